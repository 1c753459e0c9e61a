"""Brings a reservation back by its receipt, if the reservation store has lost it before it was an order.

The store decides first: it alone knows the units that other buyers were promised since. It holds the units and writes
the reservation to the outbox in one step (seckill/lua/readmit.lua), so that from there on everything is as after any
yes: intake writes the order, PostgreSQL checks the quantity again, and a process that dies here leaves nothing undone.

What ended for a reason that the shop knows stays ended: an order, whatever its status, and a hold that was released.
"""

from enum import StrEnum

import structlog
from django.conf import settings

from orders.models import Order, RefusedReceipt
from seckill import ledger
from seckill.items import holdings, item_state
from seckill.ledger_words import Readmitted
from seckill.models import SaleItem, movable_items
from seckill.outbox import doorbell
from seckill.passes.receipts import Receipt
from shop.times.timestamps import from_ms

log = structlog.get_logger(__name__)

Reason = RefusedReceipt.Reason


class Readmission(StrEnum):
    """What a receipt did, in the order of the checks.

    `known`: the reservation is not lost; its status says what became of it. `lost`: there is no way back, and staff see
    it in their list. `unavailable`: the item is being compared with its orders.
    """

    KNOWN = "known"
    LOST = "lost"
    UNAVAILABLE = "unavailable"
    LIMIT_REACHED = "limit_reached"
    READMITTED = "readmitted"


def bring_back(receipt: Receipt) -> Readmission:
    """Bring the receipt's reservation back, or say why not. Repeating it is safe. Raises StoreUnreachable."""
    item_id, reservation_id = receipt.item_id, receipt.reservation_id
    orders = Order.objects.filter(reservation_id=reservation_id)
    if orders.exists() or holdings.find_hold(item_id=item_id, reservation_id=reservation_id):
        return Readmission.KNOWN
    item = movable_items().select_related("sale").filter(pk=item_id).first()
    if item is None:
        return refuse(receipt, Reason.SALE_OVER)
    if why_not := reason_against(receipt, item):
        return refuse(receipt, why_not)
    answer = ledger.readmit(
        item_id=item_id,
        reservation_id=reservation_id,
        buyer_id=receipt.buyer_id,
        units=receipt.units,
        reserved_ms=receipt.deadline_ms - item.sale.hold_seconds * 1000,
        deadline_ms=receipt.deadline_ms,
    )
    if answer is Readmitted.TOO_FEW_LEFT:
        return refuse(receipt, Reason.UNITS_GONE)
    if answer is not Readmitted.READMITTED:
        return ANSWERS[answer]
    log.warning("reservation_brought_back", item_id=item_id, reservation=str(reservation_id), units=receipt.units)
    RefusedReceipt.objects.filter(pk=reservation_id).delete()
    if orders.exists():
        # A worker has just written it, from a batch that it read before the loss. It may have ended meanwhile.
        item_state.mark_unverified(item_id=item_id)
    doorbell.request_drain(item_id)
    return Readmission.READMITTED


ANSWERS = {
    Readmitted.UNAVAILABLE: Readmission.UNAVAILABLE,
    Readmitted.ALREADY_RESERVED: Readmission.KNOWN,
    Readmitted.HOLD_ENDED: Readmission.KNOWN,
    Readmitted.LIMIT_REACHED: Readmission.LIMIT_REACHED,
}


def reason_against(receipt: Receipt, item: SaleItem) -> Reason | None:
    """Why PostgreSQL cannot keep what the receipt says."""
    if (item.price_minor, settings.CURRENCY) != (receipt.price_minor, receipt.currency):
        return Reason.PRICE_DIFFERS
    has_units = item.quantity is None or item.taken + receipt.units <= item.quantity
    return None if has_units else Reason.UNITS_GONE


def refuse(receipt: Receipt, reason: Reason) -> Readmission:
    """Note it for staff, once for each reservation. Nothing is noted about an item that was deleted."""
    if SaleItem.objects.filter(pk=receipt.item_id).exists():
        row = RefusedReceipt(
            pk=receipt.reservation_id,
            item_id=receipt.item_id,
            buyer_id=receipt.buyer_id,
            units=receipt.units,
            price_minor=receipt.price_minor,
            currency=receipt.currency,
            deadline=from_ms(receipt.deadline_ms),
            reason=reason,
        )
        RefusedReceipt.objects.bulk_create([row], ignore_conflicts=True)
    log.error("receipt_refused", item_id=receipt.item_id, reservation=str(receipt.reservation_id), reason=reason)
    return Readmission.LOST
