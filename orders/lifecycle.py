"""How an order ends: paid, expired, cancelled. PostgreSQL first, the reservation store second, a sweep for the rest.

A state moves by guarded update in the transaction that moves `taken`; only the winner goes on. Then the ledger is told
(confirm or release) and `settled_at` is set. A crash in between leaves `settled_at` null and `settle_orders` repeats the
call, which is idempotent.
"""

from collections import defaultdict
from collections.abc import Iterable

import structlog
from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone

from orders.models import LIVE, Order, OrderLine, OrderStatus
from seckill import ledger
from seckill.models import SaleItem

log = structlog.get_logger(__name__)

# One batch of a sweep: long enough to share the cost of a commit, short enough not to hold row locks for long.
BATCH_MAX = 500

REASONS = {
    OrderStatus.EXPIRED: ledger.Reason.EXPIRED,
    OrderStatus.CANCELLED: ledger.Reason.CANCELLED,
    OrderStatus.REJECTED: ledger.Reason.REJECTED,
    OrderStatus.REFUNDED: ledger.Reason.REFUNDED,
}


def pay(*, order_id: int) -> bool:
    """Record that the order was paid. False where it is not awaiting payment, or its deadline has passed."""
    now = timezone.now()
    waiting = Order.objects.filter(pk=order_id, status=OrderStatus.AWAITING_PAYMENT, expires_at__gt=now)
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
        Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT, expires_at__lte=timezone.now())
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
    unsettled = Order.objects.filter(settled_at=None).exclude(status=OrderStatus.AWAITING_PAYMENT)
    if order_ids is not None:
        unsettled = unsettled.filter(pk__in=list(order_ids))
    lines = OrderLine.objects.filter(order__in=unsettled.order_by("ended_at")[:batch_max], sale_item__isnull=False)
    groups: dict[tuple[int, str], list[Order]] = defaultdict(list)
    for line in lines.select_related("order"):
        groups[line.sale_item_id or 0, line.order.status].append(line.order)
    settled = 0
    for (item_id, status), orders in groups.items():
        try:
            told = tell_ledger(item_id=item_id, status=OrderStatus(status), orders=orders)
        except ledger.StoreUnreachable as error:
            log.warning("settling_waits_for_store", item_id=item_id, orders=len(orders), error=str(error))
            continue
        settled += Order.objects.filter(pk__in=told, settled_at=None).update(settled_at=timezone.now())
    return settled


def tell_ledger(*, item_id: int, status: OrderStatus, orders: list[Order]) -> list[int]:
    """Confirm or release the orders' holds. Returns the orders that need no further telling."""
    reservation_ids = [order.reservation_id for order in orders if order.reservation_id]
    answers: list[ledger.Confirmed] | list[ledger.Released]
    if status in LIVE:
        answers = ledger.confirm(item_id=item_id, reservation_ids=reservation_ids)
        surprises = {ledger.Confirmed.UNKNOWN_HOLD, ledger.Confirmed.HOLD_ENDED}
    else:
        answers = ledger.release(item_id=item_id, reservation_ids=reservation_ids, reason=REASONS[status])
        surprises = {ledger.Released.UNKNOWN_HOLD, ledger.Released.ALREADY_CONFIRMED}
    told = []
    for order, answer in zip(orders, answers, strict=True):
        if answer == ledger.Released.UNAVAILABLE:
            continue  # The store does not know the item; once it does again, there is something to tell.
        if answer in surprises:
            log.error("hold_differs_from_order", item_id=item_id, order=str(order.number), status=status, hold=answer)
        told.append(order.pk)
    return told
