"""Brings back orders that PostgreSQL has lost, because it was restored from a backup, from the reservation store.

The store keeps every hold that still counts. Holds without an order become orders, and those that are sold stay sold:
their orders await the provider's event, or a person who records the payment, however late
(orders/units/lost_payments.py). Nothing is changed in the store, and the sale may go on meanwhile.
"""

from dataclasses import dataclass

from orders.repair.reconcile import collect_reservations
from orders.repair.replaced_database import end_what_ended_in_the_store
from seckill.items.lock import item_lock


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
