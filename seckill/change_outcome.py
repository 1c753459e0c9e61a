"""What came of a change: figures as the journal keeps them, a sentence as people read it."""

from django.utils.translation import gettext as _

from seckill.ledger import AdjustAnswer
from seckill.models import SaleChange

FIGURES = ("quantity", "left", "held", "sold")


def outcome_text(answer: AdjustAnswer) -> str:
    """The store's answer for the journal, in no language: "adjusted quantity=550 left=207 held=31 sold=312"."""
    found = {name: getattr(answer, name) for name in FIGURES}
    return " ".join([answer.word.value, *(f"{name}={value}" for name, value in found.items() if value is not None)])


def outcome_sentence(change: SaleChange) -> str:
    """What came of the change, in the reader's language; empty while nothing has."""
    word, *pairs = change.outcome.split() or [""]
    figures = dict(pair.partition("=")[::2] for pair in pairs)
    if change.status == SaleChange.Status.PENDING or not {"held", "sold"} <= figures.keys():
        return ""
    if word == "unlimited":
        return _("Refused: this item is unlimited.")
    if word == "too_few_left":
        return _("Refused: sold %(sold)s, held %(held)s, free %(left)s. Nothing was changed.") % figures
    if "left" not in figures:
        return _("Sold %(sold)s, held %(held)s.") % figures
    return _("Sold %(sold)s, held %(held)s, free %(left)s.") % figures
