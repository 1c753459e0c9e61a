"""A snapshot of what PostgreSQL and the reservation store say of an item, in plain values."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from orders.models import LIVE, Order, OrderLine, OrderStatus, Payment, PaymentEvent
from orders.payments.provider.interface import EventKind
from orders.payments.simulated.models import SimulatedMessage, SimulatedSession
from seckill import ledger
from seckill.items import holdings
from seckill.ledger_words import Hold
from seckill.models import Sale, SaleItem
from seckill.outbox import outbox

Session = SimulatedSession.Status
# The company has the money, or will have it.
KEPT = {Session.CAPTURED, Session.PROCESSING}


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRow:
    """One order of the item. `keeps_units` says whether it counts in `taken`, `payable` whether its buyer had the time
    to pay that is promised, from the moment when the order was written.

    `captures` counts the payments whose money the payment company has and has not given back, by its own records;
    `money_pending` is whether money still has to move.
    """

    reservation_id: str
    buyer_id: int
    units: int
    status: str
    keeps_units: bool
    payable: bool = True
    overdue: bool = False
    settled: bool = True
    captures: int = 0
    money_pending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSnapshot:
    """Both stores at one moment. `counters` is None if the reservation store does not know the item.

    `holds` is reservation id → hold, for the reservations in the history and those that have orders; `backlog` counts
    outbox entries, and `waiting` payment events, that have not been processed yet. `given_back` are the reservations
    whose money the payment company gave back, by its own records: PostgreSQL may have lost a refund with its order.
    Those `listed` have no order, and staff see the payment among the events that wait.
    """

    quantity: int
    per_buyer_max: int
    taken: int
    orders: Sequence[OrderRow]
    counters: ledger.Counters | None
    holds: Mapping[str, Hold]
    backlog: int
    waiting: int = 0
    given_back: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset()

    @property
    def live_units(self) -> int:
        return sum(order.units for order in self.orders if order.keeps_units)

    @property
    def unaccounted(self) -> int:
        """Units neither left nor held nor sold in the store, if it knows the item."""
        return abs(self.quantity - (self.counters.left or 0) - self.reserved) if self.counters else 0

    @property
    def difference(self) -> int:
        """Units by which the store, if it knows the item, differs from the live orders."""
        return abs(self.reserved - self.live_units) if self.counters else 0

    @property
    def reserved(self) -> int:
        """Units held or sold in the store."""
        return self.counters.held + self.counters.sold if self.counters else 0

    def pending_work(self) -> list[str]:
        """The work that is still pending, in words; empty if there is none."""
        counts = {
            "entries in the outbox": self.backlog,
            "orders awaiting payment": sum(order.status == OrderStatus.AWAITING_PAYMENT for order in self.orders),
            "ended orders that the store was not told of": sum(not order.settled for order in self.orders),
            "payment events not delivered or applied": self.waiting,
            "orders whose money still has to move": sum(order.money_pending for order in self.orders),
            "units of difference between taken and the live orders": abs(self.taken - self.live_units),
            "units neither left nor held nor sold in the store": self.unaccounted,
            "units of difference between the store and the live orders": self.difference,
        }
        pending = [f"{count} {what}" for what, count in counts.items() if count]
        return pending if self.counters else [*pending, "the store does not know the item"]


def take_snapshot(*, item_id: int, reservation_ids: Sequence[str]) -> StoreSnapshot:
    """Read both stores. Raises StoreUnreachable and DatabaseError."""
    # A fault may have broken the connection; the next query opens a new one.
    connection.close()
    item = SaleItem.objects.get(pk=item_id)
    # Before the orders as well: a message that arrives in between changes an order that was read already.
    waiting_before = waiting_messages(map(UUID, reservations_in_database(item_id)), column="reservation_id")
    orders = order_rows(item_id)
    counters = ledger.read(item_id=item_id)
    known = {*reservation_ids, *(order.reservation_id for order in orders)}
    return StoreSnapshot(
        quantity=item.quantity or 0,
        per_buyer_max=item.per_buyer_max,
        taken=item.taken,
        orders=orders,
        counters=counters,
        holds=holds_of(item_id, known),
        backlog=outbox.backlogs(item_ids=[item_id]).get(item_id, 0),
        waiting=max(
            waiting_before, waiting_messages((UUID(order.reservation_id) for order in orders), column="reservation_id")
        ),
        given_back=given_back(known),
        listed=listed_without_order(known),
    )


def order_rows(item_id: int) -> list[OrderRow]:
    lines = OrderLine.objects.filter(sale_item_id=item_id).annotate(now=Now()).order_by("pk")
    lines = lines.select_related("order").prefetch_related("order__payments")
    hold_seconds = Sale.objects.values_list("hold_seconds", flat=True).get(items=item_id)
    payable_min = timedelta(seconds=min(hold_seconds, settings.SECKILL_PAY_SECONDS_MIN))
    sessions = sessions_of([line.order.reservation_id for line in lines if line.order.reservation_id])
    return [
        row_from(line, payable_min=payable_min, sessions=sessions[pk] if (pk := line.order.reservation_id) else [])
        for line in lines
    ]


def row_from(line: OrderLine, *, payable_min: timedelta, sessions: Sequence[SimulatedSession]) -> OrderRow:
    order = line.order
    awaiting = order.status == OrderStatus.AWAITING_PAYMENT
    kept_after_refund = order.status == OrderStatus.REFUNDED and not order.units_back
    company = [session.status for session in sessions]
    pending = any(is_money_pending(payment, order) for payment in order.payments.all())
    return OrderRow(
        reservation_id=str(order.reservation_id),
        buyer_id=order.reserved_by,
        units=line.units,
        status=order.status,
        keeps_units=order.status in LIVE or kept_after_refund,
        payable=order.expires_at - order.created_at >= payable_min,
        overdue=awaiting and order.expires_at <= line.now,  # type: ignore[attr-defined]
        settled=awaiting or order.settled_at is not None,
        captures=sum(status in KEPT for status in company),
        money_pending=pending or Session.PROCESSING in company,
    )


def is_money_pending(payment: Payment, order: Order) -> bool:
    """Whether money has to go back, or came late and has not been dealt with yet."""
    undecided = payment.status == Payment.Status.CAPTURED and order.status == OrderStatus.EXPIRED
    return undecided or payment.status == Payment.Status.REFUND_DUE


def sessions_of(reservation_ids: Sequence[UUID]) -> defaultdict[UUID, list[SimulatedSession]]:
    """The payment company's sessions by reservation id, whether or not the shop knows of them."""
    found: defaultdict[UUID, list[SimulatedSession]] = defaultdict(list)
    for session in SimulatedSession.objects.filter(reservation_id__in=reservation_ids):
        if session.reservation_id is not None:
            found[session.reservation_id].append(session)
    return found


def given_back(reservation_ids: Iterable[str]) -> frozenset[str]:
    sessions = sessions_of([UUID(reservation_id) for reservation_id in reservation_ids])
    statuses = {str(name): {page.status for page in pages} for name, pages in sessions.items()}
    return frozenset(name for name, found in statuses.items() if Session.REFUNDED in found and not found & KEPT)


def listed_without_order(reservation_ids: Iterable[str]) -> frozenset[str]:
    waiting = PaymentEvent.objects.filter(reservation_id__in=reservation_ids, kind=EventKind.CAPTURED, applied_at=None)
    without = waiting.exclude(reservation_id__in=Order.objects.exclude(reservation_id=None).values("reservation_id"))
    return frozenset(map(str, without.values_list("reservation_id", flat=True)))


def waiting_messages(ids: Iterable[UUID], *, column: str) -> int:
    """Messages that the payment company has not delivered, and events that the shop has not applied."""
    known = [*ids]
    messages = SimulatedMessage.objects.filter(**{f"session__{column}__in": known}, delivered_at=None)
    return messages.count() + PaymentEvent.objects.filter(**{f"{column}__in": known}, applied_at=None).count()


def holds_of(item_id: int, reservation_ids: set[str]) -> dict[str, Hold]:
    found = {
        reservation_id: holdings.find_hold(item_id=item_id, reservation_id=UUID(reservation_id))
        for reservation_id in sorted(reservation_ids)
    }
    return {reservation_id: hold for reservation_id, hold in found.items() if hold is not None}


def reservations_in_database(item_id: int) -> set[str]:
    """The reservations that have an order."""
    connection.close()
    ids = OrderLine.objects.filter(sale_item_id=item_id).values_list("order__reservation_id", flat=True)
    return {str(reservation_id) for reservation_id in ids}
