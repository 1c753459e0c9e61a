"""The words of a rehearsal's result: how it went, and what the buyers were told."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from orders.preflight.finding import Verdict
from orders.preflight.rehearsal_verdict import Report
from orders.rehearsal.crowd import NO_ANSWER, NOT_SENT
from seckill.outcomes import HTTP, Outcome
from shop.languages.kept_texts import Text

ENDINGS: dict[Verdict, Text] = {
    Verdict.GOOD: _("The rehearsal went well."),
    Verdict.WARNING: _("The rehearsal went through, with something to look at."),
    Verdict.STOP: _("The rehearsal failed: a promise to buyers did not hold."),
}
# What is no answer of the shop.
OTHERS: dict[str, Text] = {
    NO_ANSWER: _("No answer"),
    NOT_SENT: _("Had not asked when the time was up"),
}


def words_of(report: Report) -> Iterator[tuple[Text, int]]:
    """How many buyers were told what, the most first."""
    titles = {outcome.value: HTTP[outcome].title for outcome in Outcome} | OTHERS
    for word, count in report["words"].items():
        yield titles.get(word, word), count
