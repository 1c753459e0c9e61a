"""The words of the live board."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from seckill.live.answer_counts import ERROR
from seckill.outcomes import HTTP, Outcome


@dataclass(frozen=True, slots=True)
class Away:
    """What the board says while a server does not answer. `%s` is the time of what it said last."""

    name: str
    old: str
    unknown: str


def groups() -> dict[str, str]:
    """The answers in the chart, by their keys in web/board/figures.py."""
    return {
        "yes": _("Yes"),
        "none_left": _("No: not enough left"),
        "not_on_sale": _("No: not on sale"),
        "of_buyer": _("No: limit of the buyer"),
        "failed": _("Errors"),
    }


def words() -> dict[str, str]:
    """Each answer by its word, a yes first."""
    first = (Outcome.RESERVED, Outcome.ALREADY_RESERVED)
    outcomes = [*first, *(outcome for outcome in Outcome if outcome not in first)]
    return {**{outcome.value: str(HTTP[outcome].title) for outcome in outcomes}, ERROR: _("Error of the shop")}


def script_texts() -> dict[str, str]:
    """What seckill/static/seckill/board.js writes."""
    return {
        "lost": _("The shop does not answer. These figures are those of %s."),
        "signed_out": _("These figures are no longer renewed: sign in again."),
        "unlimited": _("unlimited"),
        "summary": _("%(asked)s asked in the last minute, %(yes)s were told yes. Left: %(left)s."),
        "highest": _("highest: %s in a second"),
    }


def sources() -> list[Away]:
    """The servers by their names in the JSON."""
    return [
        Away(
            "cache",
            _("The cache server does not answer. Who asked is not known since %s."),
            _("The cache server does not answer. Who asked is not known."),
        ),
        Away(
            "reservation_store",
            _("The reservation store does not answer. Left, held, sold and waiting are those of %s."),
            _("The reservation store does not answer. Left, held, sold and waiting are not known."),
        ),
        Away(
            "database",
            _("PostgreSQL does not answer. Orders, paid orders and the journal are those of %s."),
            _("PostgreSQL does not answer. Orders and paid orders are not known."),
        ),
    ]
