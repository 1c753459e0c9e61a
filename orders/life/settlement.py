"""Settling: tells the reservation store how orders ended (confirm or release) and sets `Order.settled_at`.

PostgreSQL first, the store second. After a crash in between, or while the store is unreachable or the item is not
verified, `settled_at` stays null and the sweep calls `settle_orders` again. That is safe because the ledger's verbs are
idempotent.
"""

from collections.abc import Iterable, Sequence

import structlog
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from orders.models import REFUNDS, SOLD, Order, OrderLine, OrderStatus
from seckill import ledger
from seckill.items.loop import for_each_item
from seckill.ledger_words import Confirmed, Released, ReleaseReason
from seckill.line.waiting_list import then_hand_on
from seckill.store.client import StoreUnreachable
from shop import failpoints
from shop.background import outages
from shop.tracing.steps import steps

log = structlog.get_logger(__name__)

# One batch of a sweep: long enough to share the cost of a commit, short enough not to hold row locks for long.
BATCH_MAX = 500

UNSETTLED = Q(settled_at=None) & ~Q(status=OrderStatus.AWAITING_PAYMENT)

Answer = Confirmed | Released
# An order as it was read, and the ledger's answer.
SettledAnswer = tuple[Order, Answer]

# Answers that mean the store and the order disagree: nothing is left to settle, but it is logged as an error.
# Compared by identity: `already_confirmed` is expected as the answer to a confirmation, but not to a release.
SURPRISES = (
    Confirmed.UNKNOWN_HOLD,
    Confirmed.HOLD_ENDED,
    Released.UNKNOWN_HOLD,
    Released.ALREADY_CONFIRMED,
)

REASONS = {
    OrderStatus.EXPIRED: ReleaseReason.EXPIRED,
    OrderStatus.CANCELLED: ReleaseReason.CANCELLED,
    OrderStatus.REJECTED: ReleaseReason.REJECTED,
    OrderStatus.REFUND_DUE: ReleaseReason.REFUNDED,
    OrderStatus.REFUNDED: ReleaseReason.REFUNDED,
}


def settle_now(order_ids: Sequence[int]) -> None:
    """Settle orders whose status has just changed. Call it after the commit; after a crash the sweep settles them."""
    failpoints.reach("lifecycle.after_commit")
    settle_orders(order_ids=order_ids)


def backlog() -> int:
    """How many ended orders are not settled, counted by an index of these rows alone."""
    return Order.objects.filter(UNSETTLED).count()


def settle_orders(*, order_ids: Iterable[int] | None = None, batch_max: int = BATCH_MAX) -> int:
    """Tell the ledger how orders ended: those given, or else the oldest unsettled ones. Returns how many were settled.

    If the store is unreachable, they stay unsettled and the next sweep tries again.
    """
    # In most seconds there are none, and the steps take three statements.
    if order_ids is None and not Order.objects.filter(UNSETTLED).exists():
        return 0
    unsettled = OrderLine.objects.filter(order__settled_at=None, sale_item__isnull=False).exclude(
        order__status=OrderStatus.AWAITING_PAYMENT
    )
    if order_ids is not None:
        unsettled = unsettled.filter(order_id__in=list(order_ids))
    archived = settle_archived(unsettled) + settle_ordinary(order_ids=order_ids)
    unsettled = unsettled.filter(sale_item__archived_at=None)
    # One batch for each item, so that an item which the store has lost does not block the others.
    counts, _ = for_each_item(
        lambda item_id: settle_item(item_id=item_id, unsettled=unsettled, batch_max=batch_max),
        item_ids=list(unsettled.order_by().values_list("sale_item_id", flat=True).distinct()),
        event="item_not_settled",
    )
    return archived + sum(counts.values())


def settle_item(*, item_id: int, unsettled: QuerySet[OrderLine], batch_max: int) -> int:
    """Settle the oldest of the item's orders. Returns how many were settled."""
    settled = 0
    lines = unsettled.filter(sale_item_id=item_id).select_related("order").order_by("order__ended_at")[:batch_max]
    answered = settle_batch(item_id=item_id, orders=[line.order for line in lines])
    for status in {order.status for order, _ in answered}:
        # Guarded by the status that was settled: an order whose status has changed since must be settled again.
        unchanged = Order.objects.filter(pk__in=[order.pk for order, _ in answered if order.status == status])
        settled += unchanged.filter(status=status, settled_at=None).update(settled_at=Now())
    for order, answer in answered:
        steps.note(order.purchase, "settle", began=order.ended_at, status=order.status)
        if any(answer is surprise for surprise in SURPRISES) and is_unchanged(order):
            log.error("hold_differs_from_order", item_id=item_id, order=str(order.number), hold=answer.value)
    return settled


def settle_ordinary(*, order_ids: Iterable[int] | None) -> int:
    """Orders from a cart have no hold in the reservation store, so there is nothing to tell it. Returns how many."""
    ordinary = Order.objects.filter(settled_at=None, reservation_id=None).exclude(status=OrderStatus.AWAITING_PAYMENT)
    if order_ids is not None:
        ordinary = ordinary.filter(pk__in=list(order_ids))
    return ordinary.update(settled_at=Now())


def settle_archived(unsettled: QuerySet[OrderLine]) -> int:
    """Orders of archived items are settled without the store, which does not have them. Returns how many.

    One statement: an item that is brought back afterwards is rebuilt from the orders as they are then.
    """
    archived = unsettled.filter(sale_item__archived_at__isnull=False).values("order_id")
    return Order.objects.filter(pk__in=archived, settled_at=None).update(settled_at=Now())


def settle_batch(*, item_id: int, orders: list[Order]) -> list[SettledAnswer]:
    """Tell the ledger in one batch, or one by one if that fails. Returns the orders that it answered for.

    The store refuses a whole batch if one hold is damaged; the other orders must be settled nevertheless.
    """
    try:
        answered = tell_ledger(item_id=item_id, orders=orders)
    except (StoreUnreachable, ValueError) as error:
        if not store_answers(item_id=item_id):
            outages.wait("settling", error)
            return []
        log.warning("settling_one_by_one", item_id=item_id, orders=len(orders), error=str(error))
    else:
        outages.go_on("settling")
        return answered
    answered = []
    for order in orders:
        try:
            answered += tell_ledger(item_id=item_id, orders=[order])
        except (StoreUnreachable, ValueError) as error:
            if not store_answers(item_id=item_id):
                break
            log.error("hold_cannot_be_settled", item_id=item_id, order=str(order.number), error=str(error))
    return answered


def store_answers(*, item_id: int) -> bool:
    """Whether the store answers at all. If it does, the fault is in the hold."""
    try:
        ledger.read(item_id=item_id)
    except StoreUnreachable:
        return False
    return True


def tell_ledger(*, item_id: int, orders: list[Order]) -> list[SettledAnswer]:
    """Confirm or release the orders' holds, with one round trip for each reason. Returns the answers."""
    answered: list[SettledAnswer] = []
    reasons = {order.pk: reason_of(order) for order in orders}
    for reason in sorted(set(reasons.values()), key=str):
        group = [order for order in orders if reasons[order.pk] is reason and order.reservation_id]
        reservation_ids = [order.reservation_id for order in group if order.reservation_id]
        answers: list[Answer] = []
        if reason is None:
            answers += ledger.confirm(item_id=item_id, reservation_ids=reservation_ids)
        else:
            then = then_hand_on(item_id)
            answers += ledger.release(item_id=item_id, reservation_ids=reservation_ids, reason=reason, then=then)
        # If the item is lost or not verified, the store must be told again once it has been reconciled.
        answered += [(order, answer) for order, answer in zip(group, answers, strict=True) if answer != "unavailable"]
    return answered


def is_unchanged(order: Order) -> bool:
    """Whether the status is still as it was read. If not, it is settled again, and the answer does not matter."""
    return Order.objects.filter(pk=order.pk, status=order.status).exists()


def reason_of(order: Order) -> ReleaseReason | None:
    """The reason to release the order's hold; None if its units stay sold."""
    if order.status in SOLD:
        return None
    if order.status in REFUNDS and not order.units_back:
        return None
    return REASONS[OrderStatus(order.status)]
