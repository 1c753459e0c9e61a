"""The status of a reservation: from PostgreSQL once its order is created, from the reservation store before that."""

from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Sum

from orders.api.serializers import LINE_ENDED, RESERVED, WAITING
from orders.life.payment_deadline import deadline_of_hold
from orders.models import Order, OrderStatus
from seckill.items import holdings
from seckill.line.place_in_line import place_body
from seckill.passes.passes import item_id_of
from shop.databases.prepared import Prepared
from shop.times.timestamps import rfc3339, to_ms

# While the order is being created, and then while it awaits payment.
POLL_RESERVED_MS = 500
POLL_AWAITING_MS = 3_000
# Statuses that always can change; see `may_change`.
CHANGING = (OrderStatus.AWAITING_PAYMENT, OrderStatus.REFUND_DUE)
# The columns of an order that a status needs. Django reads any other with a query of its own.
FIELDS = ("id", "number", "status", "expires_at")


def find_status(*, buyer_id: int, reservation_id: UUID) -> dict[str, Any] | None:
    """The status of the buyer's reservation; None if they have no such reservation. Raises StoreUnreachable."""
    # Waiting buyers ask for this again and again, so it is one query.
    row = order_of_reservation().first(buyer_id, reservation_id)
    if row is None:
        return status_of_hold(buyer_id=buyer_id, reservation_id=reservation_id)
    *values, units = row
    return status_of(Order.from_db(None, FIELDS, values), units=int(units))


@lru_cache(maxsize=1)
def order_of_reservation() -> Prepared:
    orders = Order.objects.filter(buyer_id=0).filter(reservation_id=UUID(int=0))
    return Prepared(orders.values_list(*FIELDS, Sum("lines__units")))


def status_of(order: Order, *, units: int) -> dict[str, Any]:
    return {
        "status": order.status,
        "units": units,
        "expires_at": rfc3339(to_ms(order.expires_at)),
        "order": str(order.number),
        "poll_after_ms": POLL_AWAITING_MS if may_change(order) else None,
    }


def may_change(order: Order) -> bool:
    """Whether the status can change without the buyer doing anything: a payment may still be on its way."""
    return order.status in CHANGING or order.late_payment_undecided or order.payment_unknown


def status_of_hold(*, buyer_id: int, reservation_id: UUID) -> dict[str, Any] | None:
    """The status of a hold whose order is not created yet. If it ended without an order, intake rejected it."""
    item_id = item_id_of(reservation_id)
    hold = holdings.find_promised_hold(item_id=item_id, reservation_id=reservation_id)
    if hold is None:
        if waiting := status_in_line(item_id=item_id, buyer_id=buyer_id, reservation_id=reservation_id):
            return waiting
        # It may have come out of the line between the two looks.
        hold = holdings.find_promised_hold(item_id=item_id, reservation_id=reservation_id)
    if hold is None or hold.buyer_id != buyer_id:
        return None
    ended = hold.state == "ended"
    deadline_ms = hold.deadline_ms
    if not ended:
        deadline_ms = to_ms(deadline_of_hold(item_id=item_id, deadline_ms=deadline_ms))
    return {
        "status": OrderStatus.REJECTED.value if ended else RESERVED,
        "units": hold.units,
        "expires_at": rfc3339(deadline_ms),
        "order": None,
        "poll_after_ms": None if ended else POLL_RESERVED_MS,
    }


def status_in_line(*, item_id: int, buyer_id: int, reservation_id: UUID) -> dict[str, Any] | None:
    """The status of a place in the waiting list; None if the buyer has none with this id."""
    body = place_body(item_id=item_id, buyer_id=buyer_id, reservation_id=reservation_id)
    if body is None:
        return None
    status = WAITING if body["poll_after_ms"] else LINE_ENDED
    return {"status": status, "expires_at": None, "order": None, **body}
