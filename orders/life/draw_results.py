"""What comes of a draw's entries: an order that ended passes its units on, and everybody is told by mail."""

from collections import defaultdict
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from orders.mails import line_mails, sending
from orders.models import ENDED_UNPAID, LIVE, REFUNDS, SOLD, Mail, Order, OrderStatus
from seckill.models import LONGEST_HOLD, DrawEntry

Status = DrawEntry.Status

BATCH_MAX = 200
# A reservation becomes an order within seconds. Without one for so long, the store is asked again.
WRITTEN_WITHIN = timedelta(minutes=1)
# Its units went to the next. Units of a refund that stay sold went nowhere.
ENDED = Q(status__in=ENDED_UNPAID) | Q(status__in=REFUNDS, units_back=True)


def follow_orders() -> int:
    """Bring the entries in line with their orders: passed on, or won again after a late payment. Returns how many.

    An entry that has an order is never reserved for again: its hold may have ended and be forgotten. One that got units
    and has no order is reserved for again, under the same id: the store may have lost the reservation.
    """
    has_order = order_with(Q())
    DrawEntry.objects.filter(has_order, status=Status.WON, reserved_at=None).update(reserved_at=Now())
    unwritten = moving_entries(Status.WON).filter(~has_order, reserved_at__lt=Now() - WRITTEN_WITHIN)
    unwritten.update(reserved_at=None)
    passed_on = moving_entries(Status.WON).filter(order_with(ENDED)).update(status=Status.PASSED_ON)
    won_again = moving_entries(Status.PASSED_ON).filter(order_with(Q(status__in=LIVE))).update(status=Status.WON)
    return passed_on + won_again


def moving_entries(status: Status) -> QuerySet[DrawEntry]:
    """Entries with units in sales whose orders can still change by themselves."""
    moving = DrawEntry.objects.filter(status=status, reserved_at__isnull=False)
    return moving.filter(item__sale__closes_at__gt=Now() - LONGEST_HOLD)


def order_with(condition: Q) -> Exists:
    return Exists(Order.objects.filter(condition, reservation_id=OuterRef("reservation_id")))


def count_paid(*, sale_id: int) -> int:
    """How many winners have paid."""
    won = DrawEntry.objects.filter(item__sale=sale_id, status=Status.WON)
    return won.filter(order_with(Q(status__in=SOLD))).count()


def tell_winners() -> int:
    """Queue a mail for each winner whose order awaits payment. Returns how many entries were looked at."""
    count = 0
    while told := tell_batch():
        count += told
    return count


def tell_batch() -> int:
    with transaction.atomic():
        untold = DrawEntry.objects.select_for_update(skip_locked=True).filter(
            Exists(Order.objects.filter(reservation_id=OuterRef("reservation_id"))),
            status__in=(Status.WON, Status.PASSED_ON),
            reserved_at__isnull=False,
            told_at=None,
        )
        reservation_of = dict(untold.order_by("pk").values_list("pk", "reservation_id")[:BATCH_MAX])
        waiting = Order.objects.filter(
            reservation_id__in=reservation_of.values(), status=OrderStatus.AWAITING_PAYMENT
        ).values_list("pk", flat=True)
        sending.enqueue(order_ids=list(waiting), kind=Mail.Kind.WON)
        DrawEntry.objects.filter(pk__in=reservation_of).update(told_at=Now())
    return len(reservation_of)


def tell_losers() -> int:
    """Queue the mails of a batch of entries that have not won. Returns for how many; the sweep goes on with the next.

    One that has units by the time its mail is sent gets none (orders/mails/line_mails.py).
    """
    buyers_of: dict[int, list[int]] = defaultdict(list)
    with transaction.atomic():
        untold = DrawEntry.objects.select_for_update(skip_locked=True).filter(status=Status.NOT_WON, told_at=None)
        entries = list(untold.order_by("pk").values_list("pk", "item_id", "buyer_id")[:BATCH_MAX])
        for _pk, item_id, buyer_id in entries:
            buyers_of[item_id].append(buyer_id)
        for item_id, buyer_ids in buyers_of.items():
            line_mails.enqueue(item_id=item_id, buyer_ids=buyer_ids)
        DrawEntry.objects.filter(pk__in=[pk for pk, *_ in entries]).update(told_at=Now())
    return len(entries)
