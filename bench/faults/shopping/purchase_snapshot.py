"""A snapshot of the ordinary shop: the goods of one trial and the orders for them, in plain values.

What the payment company keeps is told by the company's own records, and what is on the shelf is counted from the orders
once more, beside the shop's own `stock_audit`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import F, Sum
from django.db.models.functions import Now

from bench.faults.shopping.goods import Goods
from bench.faults.store_snapshot import is_money_pending, waiting_messages
from orders.models import REFUNDS, SOLD, Order, OrderLine, OrderStatus, Refund, RefundLine
from orders.payments.simulated.models import SimulatedSession
from orders.repair.stock_audit import audit_stock
from seckill.models import SaleItem
from shop.models import Variant

Session = SimulatedSession.Status


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseRow:
    """One ordinary order. `key` is that of its checkout, which the buyer wrote into the note.

    `kept_minor` is what the payment company has and has not given back, `due_minor` what it should have by the shop's
    records. `captures` and `refunds` count the payments of which it keeps money, and those of which it gave some back.
    """

    key: str
    number: str
    buyer_id: int
    units: int
    status: str
    overdue: bool = False
    settled: bool = True
    captures: int = 0
    refunds: int = 0
    kept_minor: int = 0
    due_minor: int = 0
    money_pending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodsRow:
    """One variant: the units at the start, its counters, the units that sales have, and those that orders have."""

    sku: str
    start: int
    available: int
    held: int
    sold: int
    in_sales: int = 0
    ordered_held: int = 0
    ordered_sold: int = 0

    @property
    def missing(self) -> int:
        """Units that are nowhere; negative if there are more than there were."""
        return self.start - self.available - self.held - self.sold - self.in_sales

    @property
    def too_many(self) -> int:
        """Units that orders and sales have above those that there were."""
        return max(0, self.ordered_held + self.ordered_sold + self.in_sales - self.start)

    @property
    def miscounted(self) -> int:
        """Units by which the counters differ from the orders."""
        return abs(self.held - self.ordered_held) + abs(self.sold - self.ordered_sold)


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseSnapshot:
    """`unreturned` counts the units that sales which are over have not sold and not given back; `waiting` payment
    messages that were not delivered or applied; `audit` is what the shop's own audit finds about these goods.
    """

    purchases: Sequence[PurchaseRow] = ()
    goods: Sequence[GoodsRow] = ()
    unreturned: int = 0
    waiting: int = 0
    audit: Sequence[str] = ()

    def pending_work(self) -> list[str]:
        """The work that is still pending, in words; empty if there is none."""
        counts = {
            "ordinary orders awaiting payment": sum(
                row.status == OrderStatus.AWAITING_PAYMENT for row in self.purchases
            ),
            "ordinary orders not settled": sum(not row.settled for row in self.purchases),
            "ordinary orders whose money still has to move": sum(row.money_pending for row in self.purchases),
            "payment events of ordinary orders not delivered or applied": self.waiting,
            "units of past sales not returned to the stock": self.unreturned,
            "units of difference between the stock and its orders": sum(row.miscounted for row in self.goods),
            "units of goods that are missing": sum(abs(row.missing) for row in self.goods),
        }
        return [f"{count} {what}" for what, count in counts.items() if count]


def take_purchases(goods: Goods) -> PurchaseSnapshot:
    """Read it. Raises DatabaseError."""
    if not goods.variant_ids:
        return PurchaseSnapshot()
    # A fault may have broken the connection; the next query opens a new one.
    connection.close()
    lines = OrderLine.objects.filter(variant__in=goods.variant_ids.values(), sale_item=None).select_related("order")
    orders = Order.objects.filter(pk__in={line.order_id for line in lines}).order_by("pk")
    orders = orders.annotate(now=Now(), units=Sum("lines__units")).prefetch_related("payments", "refunds")
    payment_ids = [payment.pk for order in orders for payment in order.payments.all()]
    sessions = {
        session.payment_id: session
        for session in SimulatedSession.objects.filter(payment_id__in=payment_ids)
        .annotate(paid_back_minor=Sum("refunds__amount_minor", default=0))
        .order_by("pk")
    }
    skus = set(goods.skus)
    return PurchaseSnapshot(
        purchases=[row_from(order, sessions=sessions) for order in orders],
        goods=goods_rows(goods, list(lines)),
        unreturned=unreturned_units(goods),
        waiting=waiting_messages(payment_ids, column="payment_id"),
        audit=[str(difference) for difference in audit_stock().differences if difference.sku in skus],
    )


def row_from(order: Order, *, sessions: Mapping[UUID, SimulatedSession]) -> PurchaseRow:
    awaiting = order.status == OrderStatus.AWAITING_PAYMENT
    payments = order.payments.all()
    of_order = [sessions[payment.pk] for payment in payments if payment.pk in sessions]
    kept = [kept_minor(session) for session in of_order]
    return PurchaseRow(
        key=order.buyer_note,
        number=str(order.number),
        buyer_id=order.buyer_id or 0,
        units=order.units,  # type: ignore[attr-defined]
        status=order.status,
        overdue=awaiting and order.expires_at <= order.now,  # type: ignore[attr-defined]
        settled=awaiting or order.settled_at is not None,
        captures=sum(minor > 0 for minor in kept),
        refunds=sum(paid_back_minor(session) > 0 for session in of_order),
        kept_minor=sum(kept),
        due_minor=order.amount_minor - order.refunded_minor if order.status in SOLD else 0,
        money_pending=any(refund.status == Refund.Status.DUE for refund in order.refunds.all())
        or any(is_money_pending(payment, order) for payment in payments)
        or any(session.status == Session.PROCESSING for session in of_order),
    )


def kept_minor(session: SimulatedSession) -> int:
    """The amount that the company has taken for this page and not given back."""
    taken = session.status in (Session.CAPTURED, Session.PROCESSING, Session.REFUNDED)
    return session.amount_minor - paid_back_minor(session) if taken else 0


def paid_back_minor(session: SimulatedSession) -> int:
    """A page that was refunded as a whole has no refunds of parts; one whose parts are all of it is refunded too."""
    if session.status == Session.REFUNDED:
        return session.amount_minor
    return int(session.paid_back_minor)  # type: ignore[attr-defined]


def goods_rows(goods: Goods, lines: Sequence[OrderLine]) -> list[GoodsRow]:
    returned = units_returned([line.pk for line in lines])
    held: Counter[int] = Counter()
    sold: Counter[int] = Counter()
    for line in lines:
        if line.order.status == OrderStatus.AWAITING_PAYMENT:
            held[line.variant_id] += line.units
        elif line.order.status in SOLD or (line.order.status in REFUNDS and not line.order.units_back):
            sold[line.variant_id] += line.units - returned[line.pk]
    from_stock = SaleItem.objects.filter(from_stock=True, variant__in=goods.variant_ids.values())
    in_sales = dict(from_stock.values("variant_id").annotate(units=Sum("quantity")).values_list("variant_id", "units"))
    return [
        GoodsRow(
            sku=variant.sku,
            start=goods.units,
            available=variant.available,
            held=variant.held,
            sold=variant.sold,
            in_sales=in_sales.get(variant.pk, 0),
            ordered_held=held[variant.pk],
            ordered_sold=sold[variant.pk],
        )
        for variant in Variant.objects.filter(pk__in=goods.variant_ids.values()).order_by("pk")
    ]


def units_returned(line_ids: Sequence[int]) -> Counter[int]:
    """By order line, the units that refunds have put back into the stock."""
    back = RefundLine.objects.filter(line__in=line_ids, is_returned=True).values("line_id")
    return Counter(dict(back.annotate(back=Sum("units")).values_list("line_id", "back")))


def unreturned_units(goods: Goods) -> int:
    over = SaleItem.objects.filter(
        from_stock=True, variant__in=goods.variant_ids.values(), sale__closes_at__lte=Now(), quantity__gt=F("taken")
    )
    units: int = over.aggregate(units=Sum(F("quantity") - F("taken"), default=0))["units"]
    return units
