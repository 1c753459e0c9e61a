"""The answers to calls to reserve in words, and in the groups of a chart."""

from django.utils.translation import gettext as _

from seckill.live.answer_counts import ERROR
from seckill.outcomes import HTTP, Outcome

# As charts show them. Together they are all who asked.
GROUPS: dict[str, tuple[str, ...]] = {
    "yes": (Outcome.RESERVED, Outcome.ALREADY_RESERVED),
    "none_left": (Outcome.SOLD_OUT, Outcome.HELD_BY_OTHERS, Outcome.TOO_FEW_LEFT),
    "not_on_sale": (Outcome.NOT_OPEN, Outcome.PAUSED, Outcome.CLOSED),
    "of_buyer": (Outcome.LIMIT_REACHED, Outcome.HOLD_ENDED),
    "failed": (Outcome.UNAVAILABLE, ERROR),
}


def group_names() -> dict[str, str]:
    return {
        "yes": _("Yes"),
        "none_left": _("No: not enough left"),
        "not_on_sale": _("No: not on sale"),
        "of_buyer": _("No: limit of the buyer"),
        "failed": _("Errors"),
    }


def word_names() -> dict[str, str]:
    """Each answer by its word, a yes first."""
    first = (Outcome.RESERVED, Outcome.ALREADY_RESERVED)
    outcomes = [*first, *(outcome for outcome in Outcome if outcome not in first)]
    return {**{outcome.value: str(HTTP[outcome].title) for outcome in outcomes}, ERROR: _("Error of the shop")}
