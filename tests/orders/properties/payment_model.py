"""Payments in the model: payment pages, the provider's events, and late payments that wait for a decision."""

from dataclasses import dataclass

from orders.models import SOLD, OrderStatus, Payment
from orders.payments.inbox import EventOutcome
from orders.payments.provider.interface import EventKind
from tests.orders.properties.sale_model import Hold, SaleModel, Terms

Status = Payment.Status
ENDED_UNPAID = (OrderStatus.EXPIRED, OrderStatus.CANCELLED, OrderStatus.REJECTED)


@dataclass
class Page:
    """A payment. `undecided`: a captured late payment, for which the shop has not decided yet."""

    reservation: str
    status: str = Status.PENDING
    undecided: bool = False


class PaymentModel(SaleModel):
    """The model with payments. `pages` are in the order in which they were opened."""

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms)
        self.pages: dict[str, Page] = {}
        self.takes_again = True
        self.heard: set[str] = set()

    def pages_of(self, reservation: str, *statuses: str) -> list[Page]:
        return [page for page in self.pages.values() if page.reservation == reservation and page.status in statuses]

    def may_open(self, reservation: str) -> bool:
        order = self.orders.get(reservation)
        waits = order is not None and order.status == OrderStatus.AWAITING_PAYMENT and not order.turn
        return waits and not self.pages_of(reservation, Status.PENDING)

    def hear(self, name: str, kind: EventKind) -> EventOutcome:
        """What an event does in PostgreSQL."""
        page = self.pages[name]
        if kind == EventKind.CAPTURED:
            return self.capture(page)
        if kind == EventKind.REFUNDED:
            return self.money_is_back(page)
        if page.status == Status.PENDING:
            page.status = Status.FAILED
            return EventOutcome.FAILED
        return EventOutcome.NOTHING

    def capture(self, page: Page) -> EventOutcome:
        order = self.orders[page.reservation]
        if page.status not in (Status.PENDING, Status.FAILED):
            return EventOutcome.NOTHING
        if order.status == OrderStatus.AWAITING_PAYMENT:
            self.take(page)
            order.status = OrderStatus.PAID
            return EventOutcome.PAID
        if order.status in SOLD or self.pages_of(page.reservation, Status.CAPTURED):
            page.status = Status.REFUND_DUE
            return EventOutcome.PAID_TWICE
        if order.status == OrderStatus.EXPIRED:
            self.take(page)
            page.undecided = True
            return EventOutcome.LATE
        self.owe_back(page)
        return EventOutcome.GOES_BACK

    def take(self, page: Page) -> None:
        for other in self.pages_of(page.reservation, Status.PENDING):
            other.status = Status.FAILED
        page.status = Status.CAPTURED

    def owe_back(self, page: Page) -> None:
        order = self.orders[page.reservation]
        page.status, page.undecided = Status.REFUND_DUE, False
        if order.status in ENDED_UNPAID:
            order.status, order.settled = OrderStatus.REFUND_DUE, False

    def money_is_back(self, page: Page) -> EventOutcome:
        order = self.orders[page.reservation]
        if page.status == Status.REFUND_DUE:
            page.status = Status.REFUNDED
            if order.status == OrderStatus.REFUND_DUE and not self.pages_of(page.reservation, Status.REFUND_DUE):
                order.status = OrderStatus.REFUNDED
            return EventOutcome.REFUNDED
        if page.status != Status.CAPTURED:
            return EventOutcome.NOTHING
        page.status, page.undecided = Status.REFUNDED, False
        if order.status in (OrderStatus.PAID, OrderStatus.SHIPPED):
            order.status, order.units_back = OrderStatus.REFUNDED, False
        elif order.status == OrderStatus.EXPIRED:
            order.status, order.settled = OrderStatus.REFUNDED, False
        return EventOutcome.REFUNDED

    def refund(self, reservation: str, *, units_back: bool) -> OrderStatus:
        status = super().refund(reservation, units_back=units_back)
        for page in self.pages_of(reservation, Status.CAPTURED):
            page.status, status = Status.REFUND_DUE, OrderStatus.REFUND_DUE
        return status

    @property
    def undecided(self) -> list[str]:
        return [name for name, page in self.pages.items() if page.undecided]

    def decide(self, page: Page, *, dies: bool = False) -> bool:
        """Decide a late payment. False if the store cannot answer now."""
        order, store = self.orders[page.reservation], self.store
        if order.status != OrderStatus.EXPIRED:
            page.undecided = False
            return True
        if not self.takes_again:
            if not dies:
                self.owe_back(page)
                self.settle([page.reservation])
            return True
        if not self.store_is_up:
            return False
        if store.item_there and store.verified and not order.settled:
            store.release(page.reservation, refunded=False)
        # Without its outbox the item is unavailable to buyers, but a late payment does not need the outbox.
        if not store.verified or store.missing - {"outbox"}:
            return False
        hold = store.holds.get(page.reservation)
        kept = hold is not None and hold.state != "ended"
        if not kept:
            fits = store.left is None or store.left >= order.units
            kept = fits and store.buyers[order.buyer] + order.units <= store.terms.limit
            if kept:
                store.holds[page.reservation] = Hold("sold", order.buyer, order.units)
        if dies:
            return True
        if kept:
            page.undecided = False
            order.status, order.settled = OrderStatus.PAID, False
        else:
            self.owe_back(page)
        self.settle([page.reservation])
        return True
