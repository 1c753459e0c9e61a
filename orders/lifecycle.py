"""How an order ends: paid, expired, cancelled. PostgreSQL first, the reservation store second, a sweep for the rest.

A state moves by guarded update in the transaction that moves `taken`; only the winner goes on. Then the ledger is told
(confirm or release) and `settled_at` is set. A crash in between leaves `settled_at` null and `settle_orders` repeats
the call, which is idempotent.

Deadlines are compared with PostgreSQL's clock: a worker whose own clock is wrong must not expire orders early.
"""

from collections.abc import Iterable, Sequence

import structlog
from django.db import transaction
from django.db.models import F, Sum
from django.db.models.functions import Now
from django.utils import timezone

from orders.models import LIVE, Order, OrderLine, OrderStatus
from seckill import ledger
from seckill.models import SaleItem

log = structlog.get_logger(__name__)

# One batch of a sweep: long enough to share the cost of a commit, short enough not to hold row locks for long.
BATCH_MAX = 500

# Answers that mean the store and the order disagree: nothing is left to tell, but somebody should know.
SURPRISES = {
    ledger.Confirmed.UNKNOWN_HOLD,
    ledger.Confirmed.HOLD_ENDED,
    ledger.Released.UNKNOWN_HOLD,
    ledger.Released.ALREADY_CONFIRMED,
}

REASONS = {
    OrderStatus.EXPIRED: ledger.Reason.EXPIRED,
    OrderStatus.CANCELLED: ledger.Reason.CANCELLED,
    OrderStatus.REJECTED: ledger.Reason.REJECTED,
    OrderStatus.REFUNDED: ledger.Reason.REFUNDED,
}


def pay(*, order_id: int) -> bool:
    """Record that the order was paid. False where it is not awaiting payment, or its deadline has passed."""
    now = timezone.now()
    waiting = Order.objects.filter(pk=order_id, status=OrderStatus.AWAITING_PAYMENT, expires_at__gt=Now())
    if waiting.update(status=OrderStatus.PAID, ended_at=now) != 1:
        return False
    settle_orders(order_ids=[order_id])
    return True


def cancel(*, order_id: int) -> bool:
    """Cancel an unpaid order and put its units back on sale. False where it is not awaiting payment."""
    if not end_unpaid(order_ids=[order_id], status=OrderStatus.CANCELLED):
        return False
    settle_orders(order_ids=[order_id])
    return True


def expire_overdue(*, batch_max: int = BATCH_MAX) -> int:
    """Expire one batch of unpaid orders past their deadline and put their units back on sale. Returns how many."""
    overdue = (
        Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT, expires_at__lte=Now())
        .order_by("expires_at")
        .values_list("pk", flat=True)[:batch_max]
    )
    expired = end_unpaid(order_ids=list(overdue), status=OrderStatus.EXPIRED)
    if expired:
        settle_orders(order_ids=expired)
    return len(expired)


def end_unpaid(*, order_ids: Iterable[int], status: OrderStatus) -> list[int]:
    """Move those of the orders that still await payment to `status`, and their units out of `taken`. Returns the moved.

    One transaction. The rows are locked first, those that somebody else is moving right now are left to him.
    """
    with transaction.atomic():
        waiting = list(
            Order.objects.select_for_update(skip_locked=True)
            .filter(pk__in=list(order_ids), status=OrderStatus.AWAITING_PAYMENT)
            .order_by("pk")
            .values_list("pk", flat=True)
        )
        if not waiting:
            return []
        Order.objects.filter(pk__in=waiting).update(status=status, ended_at=timezone.now())
        units_of_item = (
            OrderLine.objects.filter(order_id__in=waiting, sale_item__isnull=False)
            .values_list("sale_item_id")
            .annotate(Sum("units"))
            .order_by("sale_item_id")
        )
        for item_id, units in units_of_item:
            SaleItem.objects.filter(pk=item_id).update(taken=F("taken") - units)
    return waiting


def settle_orders(*, order_ids: Iterable[int] | None = None, batch_max: int = BATCH_MAX) -> int:
    """Tell the ledger how orders ended, those given or else the oldest that it was not told of. Returns how many.

    A store that cannot be reached leaves them for the next sweep: the order stands in PostgreSQL, which is the truth.
    """
    unsettled = OrderLine.objects.filter(order__settled_at=None, sale_item__isnull=False).exclude(
        order__status=OrderStatus.AWAITING_PAYMENT
    )
    if order_ids is not None:
        unsettled = unsettled.filter(order_id__in=list(order_ids))
    settled = 0
    # A batch for each item, so that an item which the store has lost does not stand in the way of the others.
    for item_id in list(unsettled.order_by().values_list("sale_item_id", flat=True).distinct()):
        lines = unsettled.filter(sale_item_id=item_id).select_related("order").order_by("order__ended_at")[:batch_max]
        try:
            told = tell_ledger(item_id=item_id, orders=[line.order for line in lines])
        except ledger.StoreUnreachable as error:
            log.warning("settling_waits_for_store", item_id=item_id, error=str(error))
            continue
        settled += Order.objects.filter(pk__in=told, settled_at=None).update(settled_at=timezone.now())
    return settled


def tell_ledger(*, item_id: int, orders: list[Order]) -> list[int]:
    """Confirm or release the orders' holds, in one round trip for each way they ended. Returns those that are done."""
    told = []
    for status in sorted({order.status for order in orders}):
        group = [order for order in orders if order.status == status and order.reservation_id]
        reservation_ids = [order.reservation_id for order in group if order.reservation_id]
        answers: Sequence[ledger.Confirmed | ledger.Released]
        if status in LIVE:
            answers = ledger.confirm(item_id=item_id, reservation_ids=reservation_ids)
        else:
            reason = REASONS[OrderStatus(status)]
            answers = ledger.release(item_id=item_id, reservation_ids=reservation_ids, reason=reason)
        for order, answer in zip(group, answers, strict=True):
            # A store that does not know the item is to be told again, once it does.
            if answer == "unavailable":
                continue
            if answer in SURPRISES:
                log.error("hold_differs_from_order", item_id=item_id, order=str(order.number), hold=answer.value)
            told.append(order.pk)
    return told
