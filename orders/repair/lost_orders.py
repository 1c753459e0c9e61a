"""Brings back orders that PostgreSQL has lost, because it was restored from a backup, from the reservation store.

The store keeps every hold that still counts. Holds without an order become orders, and those that are sold stay sold:
their orders await the provider's event, or a person who records the payment, however late (orders/lost_payments.py).
Nothing is changed in the store, and the sale may go on meanwhile.
"""

from dataclasses import dataclass

from orders import lifecycle
from orders.models import OrderLine, OrderStatus
from orders.repair.reconcile import collect_reservations
from orders.settlement import settle_now
from seckill import item_state
from seckill.item_lock import item_lock

BATCH_MAX = 500


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """`ended`: orders that had ended after the backup. `orders`: those that were missing."""

    ended: int
    orders: int


def bring_back_orders(*, item_id: int) -> BroughtBack:
    """Bring back the item's orders. Safe to repeat. Raises StoreUnreachable and database errors."""
    with item_lock(item_id=item_id):
        # First, since others may have their units.
        ended = end_what_ended_in_the_store(item_id=item_id)
        return BroughtBack(ended=ended, orders=collect_reservations(item_id=item_id))


def end_what_ended_in_the_store(*, item_id: int) -> int:
    """Expire the orders that await payment and whose holds have ended: they expired, or were cancelled."""
    lines = OrderLine.objects.filter(sale_item_id=item_id, order__status=OrderStatus.AWAITING_PAYMENT)
    rows = (
        lines.exclude(order__reservation_id=None).order_by("order_id").values_list("order_id", "order__reservation_id")
    )
    count, last_id = 0, 0
    while batch := list(rows.filter(order_id__gt=last_id)[:BATCH_MAX]):
        holds = item_state.find_holds(item_id=item_id, reservation_ids=[pk for _, pk in batch if pk])
        ended = [
            order_id
            for (order_id, _), hold in zip(batch, holds, strict=True)
            if hold is not None and hold.state == "ended"
        ]
        if ended:
            expired = lifecycle.end_unpaid(order_ids=ended, status=OrderStatus.EXPIRED)
            settle_now(expired)
            count += len(expired)
        last_id = batch[-1][0]
    return count
