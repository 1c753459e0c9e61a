"""Payments in the model: payment pages, the provider's events, refunds, and late payments that wait for a decision."""

from dataclasses import dataclass
from uuid import uuid4

from orders.lifecycle import RefundOutcome
from orders.models import SOLD, OrderStatus, Payment, Refund
from orders.payments.inbox import EventOutcome
from orders.payments.provider.interface import EventKind
from tests.orders.properties.sale_model import Hold, SaleModel, Terms

Status = Payment.Status
# After so many refusals a refund of a part has failed.
REFUSALS_MAX = 5
ENDED_UNPAID = (OrderStatus.EXPIRED, OrderStatus.CANCELLED, OrderStatus.REJECTED)


@dataclass
class Page:
    """A payment. `undecided`: a captured late payment, for which the shop has not decided yet."""

    reservation: str
    status: str = Status.PENDING
    undecided: bool = False


@dataclass
class MoneyBack:
    """A refund. Without a `page` staff return the money themselves."""

    reservation: str
    page: str | None
    amount: int
    status: str = Refund.Status.DUE
    whole: bool = False
    attempts: int = 0


class PaymentModel(SaleModel):
    """The model with payments. `pages` are in the order in which they were opened."""

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms)
        self.pages: dict[str, Page] = {}
        self.refunds: dict[str, MoneyBack] = {}
        self.takes_again = True
        self.heard: set[str] = set()

    def pages_of(self, reservation: str, *statuses: str) -> list[Page]:
        return [page for page in self.pages.values() if page.reservation == reservation and page.status in statuses]

    def may_open(self, reservation: str) -> bool:
        order = self.orders.get(reservation)
        waits = order is not None and order.status == OrderStatus.AWAITING_PAYMENT and not order.turn
        return waits and not self.pages_of(reservation, Status.PENDING)

    # --- money ---

    def amount_of(self, reservation: str) -> int:
        return self.orders[reservation].units * self.price

    def refunds_of(self, *, reservation: str = "", page: str = "", statuses: tuple[str, ...] = ()) -> list[MoneyBack]:
        return [
            refund
            for refund in self.refunds.values()
            if reservation in ("", refund.reservation)
            and page in ("", refund.page)
            and refund.status in (statuses or (Refund.Status.DUE, Refund.Status.REFUNDED))
        ]

    def refunded(self, reservation: str) -> int:
        """What goes back or went back of the order's money."""
        return sum(refund.amount for refund in self.refunds_of(reservation=reservation))

    def captured_page(self, reservation: str) -> str | None:
        pages = (name for name, page in self.pages.items() if page.reservation == reservation)
        return next((name for name in pages if self.pages[name].status == Status.CAPTURED), None)

    def refundable(self, reservation: str) -> int:
        """How much staff may refund."""
        status = self.orders[reservation].status
        after_failure = status == OrderStatus.REFUND_DUE and self.captured_page(reservation) is not None
        return self.amount_of(reservation) - self.refunded(reservation) if status in SOLD or after_failure else 0

    # --- the provider's events ---

    def hear(self, name: str, kind: EventKind, *, amount: int, refund: str | None = None) -> EventOutcome:
        """What an event does in PostgreSQL."""
        page = self.pages[name]
        match kind:
            case EventKind.CAPTURED:
                return self.capture(page, amount)
            case EventKind.REFUNDED:
                return self.money_is_back(name)
            case EventKind.REFUND_FAILED:
                return self.money_is_not_back(name)
            case EventKind.PART_REFUNDED | EventKind.PART_REFUND_FAILED:
                return self.hear_of_part(name, kind, refund, amount)
            case EventKind.REFUNDED_SO_FAR:
                return self.hear_total(name, amount)
        if page.status == Status.PENDING:
            page.status = Status.FAILED
            return EventOutcome.FAILED
        return EventOutcome.NOTHING

    def capture(self, page: Page, amount: int) -> EventOutcome:
        order = self.orders[page.reservation]
        if page.status not in (Status.PENDING, Status.FAILED):
            return EventOutcome.NOTHING
        if amount != self.amount_of(page.reservation):
            self.owe_back(page)
            return EventOutcome.AMOUNT_DIFFERS
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

    def money_is_back(self, name: str) -> EventOutcome:
        page = self.pages[name]
        order = self.orders[page.reservation]
        if page.status == Status.REFUND_DUE:
            page.status = Status.REFUNDED
            for refund in self.refunds_of(page=name, statuses=(Refund.Status.DUE,)):
                refund.status = Refund.Status.REFUNDED if refund.whole else refund.status
            if order.status == OrderStatus.REFUND_DUE and not self.pages_of(page.reservation, Status.REFUND_DUE):
                order.status = OrderStatus.REFUNDED
            return EventOutcome.REFUNDED
        if page.status != Status.CAPTURED:
            return EventOutcome.NOTHING
        if order.status in (*SOLD, OrderStatus.REFUND_DUE):
            for refund in self.refunds_of(page=name, statuses=(Refund.Status.DUE,)):
                refund.status = Refund.Status.REFUNDED
            if rest := self.amount_of(page.reservation) - self.refunded(page.reservation):
                self.add_refund(name, rest, status=Refund.Status.REFUNDED)
        page.status, page.undecided = Status.REFUNDED, False
        if order.status in SOLD:
            order.status, order.units_back = OrderStatus.REFUNDED, False
        elif order.status == OrderStatus.REFUND_DUE:
            order.status = OrderStatus.REFUNDED
        elif order.status == OrderStatus.EXPIRED:
            order.status, order.settled = OrderStatus.REFUNDED, False
        return EventOutcome.REFUNDED

    def money_is_not_back(self, name: str) -> EventOutcome:
        page = self.pages[name]
        order = self.orders[page.reservation]
        if page.status not in (Status.REFUND_DUE, Status.REFUNDED):
            return EventOutcome.NOTHING
        page.status = Status.REFUND_DUE
        for refund in self.refunds_of(page=name, statuses=(Refund.Status.REFUNDED,)):
            refund.status = Refund.Status.DUE if refund.whole else refund.status
        if order.status == OrderStatus.REFUNDED:
            order.status = OrderStatus.REFUND_DUE
        return EventOutcome.REFUND_FAILS

    def hear_of_part(self, name: str, kind: EventKind, refund_id: str | None, amount: int) -> EventOutcome:
        """One refund is done or has failed. One that the shop does not know was lost, and is written down again."""
        if refund_id is None:
            return EventOutcome.NOTHING
        if refund_id not in self.refunds:
            left = self.amount_of(self.pages[name].reservation) - self.refunded(self.pages[name].reservation)
            if min(amount, left) <= 0:
                return EventOutcome.NOTHING
            self.add_refund(name, min(amount, left), refund_id=refund_id)
        refund = self.refunds[refund_id]
        if refund.page != name:
            return EventOutcome.NOTHING
        if kind == EventKind.PART_REFUNDED:
            return EventOutcome.PART_REFUNDED if self.finish(refund) else EventOutcome.NOTHING
        return EventOutcome.REFUND_FAILS if self.fail(refund) else EventOutcome.NOTHING

    def hear_total(self, name: str, total: int) -> EventOutcome:
        """What is more than the shop's own refunds was refunded on the provider's site."""
        page = self.pages[name]
        more = total - sum(refund.amount for refund in self.refunds_of(page=name))
        amount = min(more, self.amount_of(page.reservation) - self.refunded(page.reservation))
        if page.status != Status.CAPTURED or amount <= 0:
            return EventOutcome.NOTHING
        self.finish(self.add_refund(name, amount))
        return EventOutcome.PART_REFUNDED

    def add_refund(self, page: str, amount: int, *, refund_id: str = "", status: str = Refund.Status.DUE) -> MoneyBack:
        refund = MoneyBack(self.pages[page].reservation, page, amount, status)
        self.refunds[refund_id or str(uuid4())] = refund
        return refund

    # --- refunds ---

    def finish(self, refund: MoneyBack) -> bool:
        """The provider has paid. The order ends with the last of its money."""
        if refund.status != Refund.Status.DUE:
            return False
        assert refund.page is not None
        refund.status = Refund.Status.REFUNDED
        page, order = self.pages[refund.page], self.orders[refund.reservation]
        done = self.refunds_of(page=refund.page, statuses=(Refund.Status.REFUNDED,))
        amount = self.amount_of(refund.reservation)
        if page.status == Status.CAPTURED and sum(it.amount for it in done) >= amount:
            page.status, page.undecided = Status.REFUNDED, False
        due = self.refunds_of(reservation=refund.reservation, statuses=(Refund.Status.DUE,))
        if order.status == OrderStatus.REFUND_DUE and not due and self.refunded(refund.reservation) == amount:
            order.status = OrderStatus.REFUNDED
        return True

    def fail(self, refund: MoneyBack) -> bool:
        if refund.status == Refund.Status.FAILED:
            return False
        assert refund.page is not None
        refund.status = Refund.Status.FAILED
        page, order = self.pages[refund.page], self.orders[refund.reservation]
        page.status = Status.CAPTURED if page.status == Status.REFUNDED else page.status
        if order.status == OrderStatus.REFUNDED:
            order.status = OrderStatus.REFUND_DUE
        return True

    def ask_provider(self, answer: str) -> int:
        """Each refund that is due is asked for once. Returns how many are done."""
        done = 0
        for name, page in self.pages.items():
            if page.status == Status.REFUND_DUE and answer == "done":
                self.money_is_back(name)
                done += 1
        for refund in self.refunds_of(statuses=(Refund.Status.DUE,)):
            if refund.whole:
                continue
            refund.attempts += 1
            if answer == "done":
                done += self.finish(refund)
            elif answer == "refused" and refund.attempts >= REFUSALS_MAX:
                self.fail(refund)
        return done

    def refund(self, reservation: str, *, units_back: bool) -> OrderStatus:
        page = self.captured_page(reservation)
        status = super().refund(reservation, units_back=units_back)
        before = self.refunded(reservation)
        whole = MoneyBack(reservation, page, self.amount_of(reservation) - before, whole=before == 0)
        self.refunds[str(uuid4())] = whole
        if page is None:
            whole.status = Refund.Status.REFUNDED
            return status
        if whole.whole:
            self.pages[page].status = Status.REFUND_DUE
        return OrderStatus.REFUND_DUE

    def refund_some(self, reservation: str, refund_id: str, amount: int) -> RefundOutcome:
        """Staff refund an amount."""
        left = self.refundable(reservation)
        if refund_id in self.refunds:
            return RefundOutcome.REPEATED
        if not left:
            return RefundOutcome.NOT_REFUNDABLE
        if not 0 < amount <= left:
            return RefundOutcome.WRONG_AMOUNT
        page = self.captured_page(reservation)
        status = Refund.Status.DUE if page else Refund.Status.REFUNDED
        self.refunds[refund_id] = MoneyBack(reservation, page, amount, status)
        order = self.orders[reservation]
        if amount == left and order.status in SOLD:
            order.status = OrderStatus.REFUND_DUE if page else OrderStatus.REFUNDED
            order.units_back = False
        return RefundOutcome.STARTED

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
