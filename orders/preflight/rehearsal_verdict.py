"""What a rehearsal's report means, in plain words: lines as those of the pre-flight, and what the buyers were told."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from orders.preflight.finding import Finding, Verdict, good, stop, time_since, warning
from orders.rehearsal.crowd import NO_ANSWER, NOT_SENT
from orders.rehearsal.plan import DRAW_HAS_NO_CROWD
from orders.rehearsal.rehearsal_report import last_report
from seckill.models import Sale
from seckill.outcomes import HTTP, Outcome
from shop.languages.kept_texts import Text

# A hundredth of the buyers wait longer. After a second people notice, after five they think that the shop is broken.
NOTICED_MS, BROKEN_MS = 1_000, 5_000
# Of all buyers. A few who must ask again belong to a crowd; more would be seen.
FAILED_SHARE_MAX = 0.01
# From the last answer to the last order. Buyers can pay only then, and their pages wait for it.
WRITE_SECONDS_GOOD = 10.0
# Promise P5: no units stay stuck for longer.
RETURN_SECONDS_MAX = 60.0
# Above it the process of the simulated buyers was busy all the time, and the shop may be faster than it looks.
BUSY_PERCENT_MAX = 90

Report = Mapping[str, Any]

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


def findings_of(report: Report) -> list[Finding]:
    return [
        *about_answers(report),
        *about_units(report),
        *about_orders(report),
        *about_returns(report),
    ]


def worst_of(report: Report) -> Verdict:
    verdicts = {finding.verdict for finding in findings_of(report)}
    return next(verdict for verdict in (Verdict.STOP, Verdict.WARNING, Verdict.GOOD) if verdict in verdicts)


def about_answers(report: Report) -> Iterator[Finding]:
    """Whether all were answered, and how fast."""
    if not report["failed"]:
        yield good(_("All %(buyers)s simulated buyers heard yes or no."), **report)
    else:
        text = _("%(failed)s of %(buyers)s simulated buyers heard neither yes nor no, though they asked again.")
        todo = _("Look at the log and at the load of the web hosts, and add web processes (docs/scaling.md).")
        verdict = stop if report["failed"] > report["buyers"] * FAILED_SHARE_MAX else warning
        yield verdict(text, todo, **report)
    if report["not_sent"]:
        yield warning(
            _("A minute was too short for %(not_sent)s more buyers, who did not ask."),
            _("Rehearse with fewer buyers, or add web processes (docs/scaling.md)."),
            **report,
        )
    text = _(
        "The shop answered %(rate)s buyers a second, the last one after %(rush_seconds)s s. Half of the answers took "
        "less than %(p50_ms)s ms, and 99 of 100 less than %(p99_ms)s ms."
    )
    if report["p99_ms"] <= NOTICED_MS:
        yield good(text, **report)
    else:
        todo = _("Buyers will notice. Add web processes or hosts (docs/scaling.md), and rehearse again.")
        yield (stop if report["p99_ms"] > BROKEN_MS else warning)(text, todo, **report)
    if report["busy_percent"] > BUSY_PERCENT_MAX:
        yield warning(
            _("The simulated buyers were busy for %(busy_percent)s%% of the time: the shop may be faster than this."),
            _("Nothing is wrong with the shop. Its real limit is found by load tests (docs/performance.md)."),
            **report,
        )


def about_units(report: Report) -> Iterator[Finding]:
    """Never more than the units were told yes, and each yes is kept."""
    if report["excess"] or not report["sums_hold"]:
        yield stop(
            _("More was promised than there was: %(excess)s units too many."),
            _("Do not open the sale. Report this: it must never happen (docs/reliability.md)."),
            **report,
        )
    elif report["units"] is None:
        yield good(_("%(yes)s buyers heard yes. The sale has an item without a limit."), **report)
    else:
        yield good(_("%(yes)s buyers heard yes, for %(units)s units: never one too many."), **report)
    if report["lost"]:
        yield stop(
            _("The reservation store does not know %(lost)s reservations for which buyers heard yes."),
            _("See whether the store was restarted meanwhile, and what the check says about its durability."),
            **report,
        )


def about_orders(report: Report) -> Iterator[Finding]:
    """Whether workers wrote the orders of all who heard yes."""
    if report["waiting"]:
        yield stop(
            _("%(waiting)s reservations did not become orders."),
            _("Start a worker for the queue drain, or look at its log."),
            **report,
        )
        return
    text = _(
        "Workers wrote the orders of all reservations, the last %(write_seconds)s s after the last answer. At most "
        "%(backlog_max)s waited."
    )
    if report["write_seconds"] <= WRITE_SECONDS_GOOD:
        yield good(text, **report)
    else:
        todo = _(
            "Buyers can pay only then. Give the worker of the queue drain more processes, or PostgreSQL a faster disk."
        )
        yield warning(text, todo, **report)


def about_returns(report: Report) -> Iterator[Finding]:
    """Whether units of buyers who did not pay were sold again."""
    if report["still_held"]:
        yield stop(
            _("%(still_held)s of %(unpaid)s units that were not paid for did not come back."),
            _("Start a worker for the queue expiry, or look at its log."),
            **report,
        )
    elif report["unpaid"]:
        text = _("All %(unpaid)s units that were not paid for came back, %(return_seconds)s s after their holds ended.")
        late = report["return_seconds"] > RETURN_SECONDS_MAX
        todo = _("Give the worker of the queue expiry more processes.")
        yield warning(text, todo, **report) if late else good(text, **report)
    if report["late_yes"] < report["late"]:
        yield stop(
            _("Units were back, but only %(late_yes)s of %(late)s late buyers heard yes."),
            _("Look at the log of the web processes."),
            **report,
        )
    elif report["late"]:
        yield good(_("%(late)s late buyers asked for units that were left or came back, and all heard yes."), **report)


def words_of(report: Report) -> Iterator[tuple[Text, int]]:
    """How many buyers were told what, the most first."""
    titles = {outcome.value: HTTP[outcome].title for outcome in Outcome} | OTHERS
    for word, count in report["words"].items():
        yield titles.get(word, word), count


# Machines and settings change. An older one says little about those of now.
FRESH = timedelta(days=7)


def look_at_rehearsal(sale: Sale) -> Iterator[Finding]:
    """Nothing is said where rehearsals are switched off and there was none."""
    if sale.has_draw:
        if settings.REHEARSALS:
            yield good(DRAW_HAS_NO_CROWD)
        return
    last = last_report(sale_id=sale.pk)
    again = _("Rehearse it from the sale's page in the admin, or with `manage.py sale_rehearsal %(sale_id)s`.")
    if last is None:
        if settings.REHEARSALS:
            yield warning(_("This sale was never rehearsed."), again, sale_id=sale.pk)
        return
    worst = worst_of(last.report)
    values = {
        "ago": time_since(last.started_at),
        "buyers": last.report["buyers"],
        "ending": ENDINGS[worst],
        "sale_id": sale.pk,
    }
    text = _("Rehearsed %(ago)s ago with %(buyers)s simulated buyers. %(ending)s")
    if worst is Verdict.STOP:
        yield stop(text, _("Its report, behind the button “Rehearse”, says what to do. Then rehearse again."), **values)
    elif timezone.now() - last.started_at > FRESH:
        yield warning(text, again, **values)
    elif worst is Verdict.WARNING:
        yield warning(text, _("Look at its report, behind the button “Rehearse”."), **values)
    else:
        yield good(text, **values)
