"""The rows of refunds, and how much of an order's money and units is left for another one.

Call these in a transaction in which the order's row is locked: so two people at once never refund the same money.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db.models import F
from django.db.models.functions import Now

from orders.models import SOLD, USED_UP, Order, OrderLine, OrderStatus, Payment, Refund, RefundLine
from orders.units.in_stock import return_to_stock


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundRequest:
    """A refund that staff ask for. `refund_id` makes a repeated call the same refund."""

    refund_id: UUID
    amount_minor: int
    units_of_line: Mapping[int, int]
    units_back: bool
    reason: str = ""
    made_by: User | None = None


def captured_payment(order: Order) -> Payment | None:
    """The payment through a provider; None if staff recorded the money, or there is none."""
    return Payment.objects.filter(order=order, status=Payment.Status.CAPTURED).first()


def refundable_minor(order: Order, payment: Payment | None) -> int:
    """How much staff can still refund: of a paid order, or of one whose last refund has failed."""
    after_failure = order.status == OrderStatus.REFUND_DUE and payment is not None
    return order.amount_minor - order.refunded_minor if order.status in SOLD or after_failure else 0


def units_left(order: Order) -> dict[int, int]:
    """By line id, the units that no refund was about."""
    left = dict(OrderLine.objects.filter(order=order).values_list("pk", "units"))
    used = RefundLine.objects.filter(USED_UP, refund__order=order)
    for line_id, units in used.values_list("line_id", "units"):
        left[line_id] -= units
    return left


def record(*, order: Order, payment: Payment | None, request: RefundRequest) -> Refund:
    """Write down a refund by staff. Its units go back into the ordinary stock if staff say so.

    Units of a flash sale go back on sale only with the whole order; otherwise they stay sold.
    """
    refund = add_refund(
        order=order,
        payment=payment,
        amount_minor=request.amount_minor,
        refund_id=request.refund_id,
        reason=request.reason,
        made_by=request.made_by,
    )
    assert refund is not None
    ordinary = set(OrderLine.objects.filter(order=order, sale_item=None).values_list("pk", flat=True))
    asked = {line_id: units for line_id, units in request.units_of_line.items() if units}
    RefundLine.objects.bulk_create(
        RefundLine(refund=refund, line_id=line_id, units=units, is_returned=request.units_back and line_id in ordinary)
        for line_id, units in asked.items()
    )
    if request.units_back:
        return_to_stock(order=order, units_of_line=asked, made_by=request.made_by)
    return refund


def add_refund(
    *,
    order: Order,
    payment: Payment | None,
    amount_minor: int,
    refund_id: UUID | None = None,
    is_surplus: bool = False,
    reason: str = "",
    made_by: User | None = None,
) -> Refund | None:
    """The row. Without a payment it is due until staff say that they have paid it. None without an amount."""
    if amount_minor <= 0:
        return None
    if not is_surplus:
        Order.objects.filter(pk=order.pk).update(refunded_minor=F("refunded_minor") + amount_minor)
    return Refund.objects.create(
        pk=refund_id or uuid4(),
        order=order,
        payment=payment,
        amount_minor=amount_minor,
        is_surplus=is_surplus,
        reason=reason,
        made_by=made_by,
        next_attempt_at=Now() if payment else None,
    )
