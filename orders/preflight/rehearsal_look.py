"""The look at the last rehearsal of the sale."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from orders.preflight.finding import Finding, Verdict, good, stop, time_since, warning
from orders.preflight.rehearsal_verdict import ENDINGS, worst_of
from orders.rehearsal.plan import DRAW_HAS_NO_CROWD
from orders.rehearsal.rehearsal_report import last_report
from seckill.models import Sale

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
