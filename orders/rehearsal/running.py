"""A rehearsal of a sale, from its start to its report.

Simulated buyers ask the shop's own front door for units of shadows of the sale's items (seckill/items/shadow.py): HTTP
to SHOP_URL, real passes, the real script, the real outbox. Workers write the orders and take them back
(orders/rehearsal/written_orders.py). Half of the buyers pay, without a payment provider; the holds of the others end,
a worker puts their units back on sale, and late buyers take them.

The row of a rehearsal is there before the first key of the store, so that the sweep finds what a killed process left.
"""

from collections.abc import Callable
from contextlib import suppress

import structlog
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from orders.models import Rehearsal
from orders.models.rehearsal import SILENT_AFTER
from orders.rehearsal import shadows
from orders.rehearsal.course import Course
from orders.rehearsal.plan import Refused, check_allowed, shadow_items
from seckill.models import Sale
from shop.background.outages import AWAY, one_line
from shop.background.queued_tasks import EXPIRES_SECONDS, queued_task
from shop.languages.kept_texts import Text, filled, in_each_language
from shop.times.zone import words_for

log = structlog.get_logger(__name__)

# All stages together are bounded by some four minutes (orders/rehearsal/course.py).
RUN_SECONDS_MAX = 300

Status = Rehearsal.Status


def start(sale: Sale, *, buyers: int, made_by: User | None = None) -> Rehearsal:
    """The row of a new rehearsal, which is to be run next. Raises Refused."""
    check_allowed(sale)
    end_silent()
    try:
        with transaction.atomic():
            items = shadow_items(sale, buyers=buyers)
            return Rehearsal.objects.create(sale=sale, buyers=buyers, items=items, made_by=made_by, pulse_at=Now())
    except IntegrityError as error:
        other = Rehearsal.objects.filter(status=Status.RUNNING).select_related("sale").first()
        if other is None:
            raise
        text = _("A rehearsal of “%(sale)s” has been running since %(time)s. One runs at a time: wait for its end.")
        raise Refused(filled(text, sale=other.sale, time=words_for(other.started_at))) from error


def run_in_worker(rehearsal: Rehearsal) -> None:
    """Let a worker run it. Raises Refused."""
    try:
        rehearse.apply_async(kwargs={"rehearsal_id": rehearsal.pk}, expires=EXPIRES_SECONDS)
    except AWAY as error:
        text = filled(_("The broker does not answer: %(error)s"), error=one_line(error))
        rehearsal.end(Status.BROKEN, problem=in_each_language(text))
        raise Refused(text) from error


# It looks at the shop from a process that has time: one of the two for mails, which can wait for the other.
@queued_task(queue="mail", time_limit=RUN_SECONDS_MAX, acks_late=False)
def rehearse(*, rehearsal_id: int) -> None:
    # Among them one whose message has waited for workers, perhaps until its sale opened.
    end_silent()
    rehearsal = Rehearsal.objects.filter(pk=rehearsal_id, status=Status.RUNNING).first()
    if rehearsal is not None:
        run(rehearsal)


def run(rehearsal: Rehearsal, *, show: Callable[[Rehearsal], object] = lambda _rehearsal: None) -> None:
    """Run it to its end; `show` is called some times a second. How it ended is in its row.

    Nothing is left in the store, whatever happens: where this process cannot see to it, the sweep does.
    """
    try:
        report = Course(rehearsal, show=show).report()
        rehearsal.end(Status.DONE, report=report)
        older = Rehearsal.objects.filter(sale=rehearsal.sale_id, pk__lt=rehearsal.pk, cleared_at__isnull=False)
        older.delete()
    except Refused as refusal:
        rehearsal.end(Status.BROKEN, problem=in_each_language(refusal.args[0]))
    except AWAY as error:
        text = filled(_("A server went away during the rehearsal: %(error)s"), error=one_line(error))
        rehearsal.end(Status.BROKEN, problem=in_each_language(text))
    except BaseException:
        rehearsal.end(Status.BROKEN, problem=in_each_language(INTERRUPTED))
        raise
    finally:
        with suppress(*AWAY):
            clear(rehearsal)


INTERRUPTED = _("The rehearsal was interrupted: its process ended before it was done. Start another one.")
NOT_BEGUN = _("No worker took the rehearsal. Start one for the queue mail, or wait until it has time.")


def end_silent() -> int:
    """End the rehearsal that gives no sign of life any more, so that another one can start."""
    silent = Rehearsal.objects.filter(status=Status.RUNNING, pulse_at__lt=Now() - SILENT_AFTER)
    count = 0
    for rehearsal in silent:
        text: Text = INTERRUPTED if rehearsal.figures else NOT_BEGUN
        count += rehearsal.end(Status.BROKEN, problem=in_each_language(text))
        log.warning("rehearsal_interrupted", rehearsal_id=rehearsal.pk, sale_id=rehearsal.sale_id)
    return count


def clear_ended() -> int:
    """For the sweep: what ended rehearsals have left in the store. Raises StoreUnreachable."""
    end_silent()
    left = Rehearsal.objects.filter(cleared_at=None).exclude(status=Status.RUNNING)
    return sum(clear(rehearsal) for rehearsal in left)


def clear(rehearsal: Rehearsal) -> bool:
    """Remove the shadows of a rehearsal that has ended. Safe to repeat. Raises StoreUnreachable.

    With its sale, a draft, its row is deleted too.
    """
    shadows.remove(rehearsal)
    return bool(Rehearsal.objects.filter(pk=rehearsal.pk).update(cleared_at=timezone.now()))
