"""Payments in the model: payment pages, the provider's events, refunds, and late payments that wait for a decision."""

from dataclasses import dataclass
from uuid import uuid4

from orders.life.lifecycle import RefundOutcome
from orders.models import SOLD, OrderStatus, Payment, Refund
from orders.payments.inbox import EventOutcome
from orders.payments.provider.interface import EventKind
from tests.orders.properties.sale_model import Hold, SaleModel, Terms

Status = Payment.Status
# After so many refusals a refund has failed, if staff can choose another amount.
REFUSALS_MAX = 5
REFUNDS = (EventKind.REFUNDED, EventKind.REFUNDED_SO_FAR, EventKind.REFUND_PAID, EventKind.REFUND_FAILED)
ENDED_UNPAID = (OrderStatus.EXPIRED, OrderStatus.CANCELLED, OrderStatus.REJECTED)


@dataclass
class Page:
    """A payment of `amount`. `undecided`: a captured late payment, for which the shop has not decided yet."""

    reservation: str
    amount: int
    status: str = Status.PENDING
    undecided: bool = False
    came_late: bool = False


@dataclass(frozen=True)
class Heard:
    """An event that the shop has and has not applied."""

    page: str
    kind: EventKind
    amount: int
    refund: str | None = None


@dataclass
class MoneyBack:
    """A refund. Without a `page` staff return the money themselves."""

    reservation: str
    page: str | None
    amount: int
    status: str = Refund.Status.DUE
    is_surplus: bool = False
    attempts: int = 0
    is_accepted: bool = False


class PaymentModel(SaleModel):
    """The model with payments. `pages` are in the order in which they were opened."""

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms)
        self.pages: dict[str, Page] = {}
        self.refunds: dict[str, MoneyBack] = {}
        self.takes_again = True
        # By the event's id: those that were applied, and those that wait, in the order in which they came.
        self.applied: set[str] = set()
        self.waiting: dict[str, Heard] = {}
        # Refunds that some event names, each with the page of that event.
        self.named: set[tuple[str, str | None]] = set()

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
        return sum(it.amount for it in self.refunds_of(reservation=reservation) if not it.is_surplus)

    def kept(self, name: str) -> int:
        """What does not go back of a payment."""
        return self.pages[name].amount - sum(refund.amount for refund in self.refunds_of(page=name))

    def captured_page(self, reservation: str) -> str | None:
        pages = (name for name, page in self.pages.items() if page.reservation == reservation)
        return next((name for name in pages if self.pages[name].status == Status.CAPTURED), None)

    def refundable(self, reservation: str) -> int:
        """How much staff may refund."""
        status = self.orders[reservation].status
        after_failure = status == OrderStatus.REFUND_DUE and self.captured_page(reservation) is not None
        return self.amount_of(reservation) - self.refunded(reservation) if status in SOLD or after_failure else 0

    # --- the provider's events ---

    def hear(self, event_id: str, event: Heard) -> EventOutcome:
        """What an event does in PostgreSQL. One that is sent again counts as it came first."""
        if event_id in self.applied:
            return EventOutcome.DUPLICATE
        event = self.waiting.setdefault(event_id, event)
        self.named.add((event.page, event.refund))
        if self.must_wait(event):
            return EventOutcome.WAITING
        del self.waiting[event_id]
        self.applied.add(event_id)
        return self.apply(event)

    def must_wait(self, event: Heard) -> bool:
        """A refund waits for its capture, and every event for its payment."""
        page = self.pages.get(event.page)
        is_early = page is not None and page.status in (Status.PENDING, Status.FAILED)
        return page is None or (is_early and event.kind in REFUNDS)

    def apply(self, event: Heard) -> EventOutcome:
        name, page = event.page, self.pages[event.page]
        match event.kind:
            case EventKind.CAPTURED:
                return self.capture(name, event.amount)
            case EventKind.REFUNDED:
                return self.all_is_back(name)
            case EventKind.REFUND_PAID | EventKind.REFUND_FAILED:
                return self.hear_of_one(name, event.kind, event.refund, event.amount)
            case EventKind.REFUNDED_SO_FAR:
                return self.hear_total(name, event.amount)
        if page.status == Status.PENDING:
            page.status = Status.FAILED
            return EventOutcome.FAILED
        return EventOutcome.NOTHING

    def capture(self, name: str, amount: int) -> EventOutcome:
        page = self.pages[name]
        order = self.orders[page.reservation]
        if page.status not in (Status.PENDING, Status.FAILED):
            return EventOutcome.NOTHING
        if amount != self.amount_of(page.reservation):
            page.amount = amount
            self.owe_back(name)
            return EventOutcome.AMOUNT_DIFFERS
        if order.status == OrderStatus.AWAITING_PAYMENT:
            self.take(page)
            order.status = OrderStatus.PAID
            return EventOutcome.PAID
        if order.status in SOLD or self.pages_of(page.reservation, Status.CAPTURED):
            self.owe_back(name)
            return EventOutcome.PAID_TWICE
        if order.status == OrderStatus.EXPIRED:
            self.take(page)
            page.undecided = page.came_late = True
            return EventOutcome.LATE
        self.owe_back(name)
        return EventOutcome.REFUND_STARTED

    def take(self, page: Page) -> None:
        for other in self.pages_of(page.reservation, Status.PENDING):
            other.status = Status.FAILED
        page.status = Status.CAPTURED

    def owe_back(self, name: str) -> None:
        """The order does not take the payment."""
        page = self.pages[name]
        order = self.orders[page.reservation]
        page.status, page.undecided = Status.REFUND_DUE, False
        # Another late payment of the order may be undecided.
        if order.status in ENDED_UNPAID and not self.pages_of(page.reservation, Status.CAPTURED):
            order.status, order.settled = OrderStatus.REFUND_DUE, False
        self.set_aside(name)
        self.add_refund(name, self.kept(name), is_surplus=True)
        self.close(name)

    def set_aside(self, name: str) -> None:
        """The order takes no money of the payment, of which parts may have gone back before."""
        for refund in self.refunds_of(page=name):
            refund.is_surplus = True

    def all_is_back(self, name: str) -> EventOutcome:
        page = self.pages[name]
        if page.status not in (Status.REFUND_DUE, Status.CAPTURED):
            return EventOutcome.NOTHING
        self.note_refund(name, self.kept(name))
        for refund in self.refunds_of(page=name, statuses=(Refund.Status.DUE,)):
            self.finish(refund)
        return EventOutcome.REFUNDED

    def hear_of_one(self, name: str, kind: EventKind, refund_id: str | None, amount: int) -> EventOutcome:
        """One refund is done or has failed. One that the shop does not know was lost, and is written down again.

        Without an id it is the last refund of a payment that goes back as a whole.
        """
        refund: MoneyBack | None
        if refund_id is None:
            goes_back = self.pages[name].status in (Status.REFUND_DUE, Status.REFUNDED)
            refund = self.refunds_of(page=name)[-1] if goes_back else None
        elif refund_id in self.refunds:
            refund = self.refunds[refund_id]
        else:
            refund = self.note_refund(name, amount, refund_id=refund_id)
        if refund is None or refund.page != name:
            return EventOutcome.NOTHING
        if kind == EventKind.REFUND_PAID:
            return EventOutcome.REFUNDED if self.finish(refund) else EventOutcome.NOTHING
        return EventOutcome.REFUND_FAILS if self.fail(refund) else EventOutcome.NOTHING

    def hear_total(self, name: str, total: int) -> EventOutcome:
        """What is more than the shop's own refunds was refunded on the provider's site."""
        page = self.pages[name]
        if page.status != Status.CAPTURED:
            return EventOutcome.NOTHING
        refund = self.note_refund(name, total - self.known_in_sum(name, total))
        return EventOutcome.REFUNDED if refund and self.finish(refund) else EventOutcome.NOTHING

    def known_in_sum(self, name: str, total: int) -> int:
        """Without refunds of ours that cannot be in the sum, if the payment has enough for them too."""
        going = self.pages[name].amount - self.kept(name)
        unanswered = [
            refund
            for pk, refund in self.refunds.items()
            if refund.page == name and refund.status == Refund.Status.DUE
            if not refund.is_accepted and (name, pk) not in self.named
        ]
        known = going - sum(refund.amount for refund in unanswered)
        for refund in unanswered:
            if refund.attempts and known + refund.amount <= total:
                known += refund.amount
        return known if total - known <= self.kept(name) else going

    def note_refund(self, name: str, amount: int, *, refund_id: str = "") -> MoneyBack | None:
        """A refund from outside the shop, of what is left at most. If that is all, an unsold order takes no money."""
        reservation = self.pages[name].reservation
        amount = min(amount, self.kept(name))
        is_surplus = self.orders[reservation].status in ENDED_UNPAID and 0 < amount == self.kept(name)
        if is_surplus:
            self.set_aside(name)
        else:
            amount = min(amount, self.amount_of(reservation) - self.refunded(reservation))
        refund = self.add_refund(name, amount, refund_id=refund_id, is_surplus=is_surplus)
        self.end_if_all_goes_back(reservation)
        return refund

    def add_refund(self, page: str, amount: int, *, refund_id: str = "", is_surplus: bool = False) -> MoneyBack | None:
        if amount <= 0:
            return None
        refund = MoneyBack(self.pages[page].reservation, page, amount, is_surplus=is_surplus)
        self.refunds[refund_id or str(uuid4())] = refund
        return refund

    # --- refunds ---

    def end_if_all_goes_back(self, reservation: str) -> None:
        order = self.orders[reservation]
        if order.status in SOLD and self.refunded(reservation) == self.amount_of(reservation):
            due = self.refunds_of(reservation=reservation, statuses=(Refund.Status.DUE,))
            is_due = any(not refund.is_surplus for refund in due)
            order.status = OrderStatus.REFUND_DUE if is_due else OrderStatus.REFUNDED
            order.units_back = False

    def finish(self, refund: MoneyBack) -> bool:
        """The provider has paid. The order ends with the last of its money."""
        if refund.status != Refund.Status.DUE:
            return False
        assert refund.page is not None
        refund.status = Refund.Status.REFUNDED
        self.close(refund.page)
        return True

    def close(self, name: str) -> None:
        page = self.pages[name]
        waits = self.refunds_of(page=name, statuses=(Refund.Status.DUE,))
        captured = page.status == Status.CAPTURED and self.kept(name) <= 0
        if not waits and (page.status == Status.REFUND_DUE or captured):
            page.status, page.undecided = Status.REFUNDED, False
        self.end_if_all_is_back(page.reservation)

    def end_if_all_is_back(self, reservation: str) -> None:
        order = self.orders[reservation]
        due = self.refunds_of(reservation=reservation, statuses=(Refund.Status.DUE,))
        if due or self.pages_of(reservation, Status.CAPTURED):
            return
        if order.status == OrderStatus.REFUND_DUE:
            order.status = OrderStatus.REFUNDED
        elif order.status == OrderStatus.EXPIRED and any(
            page.came_late for page in self.pages_of(reservation, Status.REFUNDED)
        ):
            order.status, order.settled = OrderStatus.REFUNDED, False

    def paid_by_staff(self, refund_id: str) -> bool:
        """Staff say that they have paid a refund back themselves."""
        refund = self.refunds.get(refund_id)
        if refund is None or refund.page is not None or refund.status != Refund.Status.DUE:
            return False
        refund.status = Refund.Status.REFUNDED
        self.end_if_all_is_back(refund.reservation)
        return True

    def fail(self, refund: MoneyBack) -> bool:
        assert refund.page is not None
        page, order = self.pages[refund.page], self.orders[refund.reservation]
        if refund.is_surplus or page.status == Status.REFUND_DUE:
            if refund.status != Refund.Status.FAILED:
                refund.status = Refund.Status.DUE
            page.status = Status.REFUND_DUE
        elif refund.status == Refund.Status.FAILED:
            return False
        else:
            refund.status = Refund.Status.FAILED
            page.status = Status.CAPTURED if page.status == Status.REFUNDED else page.status
        if order.status == OrderStatus.REFUNDED:
            order.status = OrderStatus.REFUND_DUE
        return True

    def ask_provider(self, answer: str) -> int:
        """Each refund that is due is asked for once. Returns how many are done."""
        done = 0
        for refund in self.refunds_of(statuses=(Refund.Status.DUE,)):
            if refund.page is None:
                continue
            refund.attempts += 1
            refund.is_accepted = refund.is_accepted or answer in ("done", "under way")
            stays = self.pages[refund.page].status == Status.REFUND_DUE
            if answer == "done":
                done += self.finish(refund)
            elif answer == "refused" and refund.attempts >= REFUSALS_MAX and not stays:
                self.fail(refund)
        return done

    def refund(self, reservation: str, *, units_back: bool) -> OrderStatus:
        page = self.captured_page(reservation)
        status = super().refund(reservation, units_back=units_back)
        rest = MoneyBack(reservation, page, self.amount_of(reservation) - self.refunded(reservation))
        self.refunds[str(uuid4())] = rest
        if page is not None and rest.amount == self.pages[page].amount:
            self.pages[page].status = Status.REFUND_DUE
        return status

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
        self.refunds[refund_id] = MoneyBack(reservation, page, amount)
        self.end_if_all_goes_back(reservation)
        return RefundOutcome.STARTED

    @property
    def undecided(self) -> list[str]:
        return [name for name, page in self.pages.items() if page.undecided]

    def decide(self, name: str, *, dies: bool = False) -> bool:
        """Decide a late payment. False if the store cannot answer now."""
        page = self.pages[name]
        order, store = self.orders[page.reservation], self.store
        if order.status != OrderStatus.EXPIRED:
            page.undecided = False
            return True
        if not self.takes_again:
            if not dies:
                self.owe_back(name)
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
            self.owe_back(name)
        self.settle([page.reservation])
        return True
