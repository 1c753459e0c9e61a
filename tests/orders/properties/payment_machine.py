"""The machine with payment pages and webhooks: repeated, late, out of order, or before their payment exists."""

from collections import Counter
from datetime import timedelta
from typing import Any
from unittest import mock
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, multiple, rule

from orders import tasks
from orders.life import lifecycle
from orders.life.lifecycle import RefundOutcome
from orders.models import SOLD, Order, Payment, Refund
from orders.payments import inbox, late_money, provider_choice, refunds
from orders.payments.inbox import EventOutcome
from orders.payments.provider.interface import (
    Event,
    EventKind,
    ProviderRefused,
    ProviderUnreachable,
    RefundAnswer,
    RefundReply,
)
from orders.refund_records import RefundRequest
from seckill.models import LatePayment, Sale
from tests.orders.properties.line_machine import LineMachine
from tests.orders.properties.payment_model import Heard, Page, PaymentModel
from tests.orders.properties.world import Recorded

# Quarters of an order's money.
PARTS = st.sampled_from([4, 4, 4, 1, 2, 3])
# Of refunds that the shop has lost; an empty one is none.
NEW_IDS = st.one_of(st.just(""), st.uuids(version=4).map(str))
ANSWERS = st.sampled_from(["done", "done", "under way", "refused", "away"])
KINDS = st.sampled_from([EventKind.CAPTURED, EventKind.CAPTURED, *EventKind])
PLACES = st.sampled_from(["", "", "", "payments.before_commit", "payments.after_commit", "late_payment.after_restore"])
PROVIDER = "simulated"


class StubProvider:
    """A provider that gives every refund the same answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def refund(self, *, refund: Refund) -> RefundReply:
        if self.answer == "refused":
            raise ProviderRefused(self.answer)
        if self.answer == "away":
            raise ProviderUnreachable(self.answer)
        answer = RefundAnswer.DONE if self.answer == "done" else RefundAnswer.UNDER_WAY
        return RefundReply(answer, reference=str(refund.pk))


class PaymentMachine(LineMachine):
    pages: Bundle[Any] = Bundle("pages")
    refund_ids: Bundle[Any] = Bundle("refund_ids")
    model_type = PaymentModel

    @rule(target=pages, taken=LineMachine.taken_passes, is_early=st.booleans())
    def open_page(self, taken: tuple[str, int], is_early: bool) -> MultipleResults[str]:
        """A payment page, as orders/payments/sessions.py opens one; its first event may arrive before its row."""
        reservation = taken[0]
        if not self.model.may_open(reservation):
            return multiple()
        page = str(uuid4())
        order = Order.objects.get(reservation_id=reservation)
        event = event_of(page, reservation, kind=EventKind.CAPTURED, number=0, amount=order.amount_minor)
        if is_early:
            assert tell(event) is EventOutcome.WAITING
        Payment.objects.create(
            pk=page,
            order=order,
            provider=PROVIDER,
            idempotency_key=page,
            amount_minor=order.amount_minor,
            currency=order.currency,
        )
        self.model.pages[page] = Page(reservation, order.amount_minor)
        if is_early:
            self.model.waiting[event.event_id] = Heard(page, EventKind.CAPTURED, order.amount_minor)
            self.apply_waiting()
        return multiple(page)

    @rule()
    def apply_waiting(self) -> None:
        """The sweep."""
        ready = {name: event for name, event in self.model.waiting.items() if not self.model.must_wait(event)}
        assert inbox.apply_waiting() == len(ready)
        for name, event in ready.items():
            self.follow(event.page, self.model.hear(name, event), "")

    @rule(page=pages, kind=KINDS, number=st.integers(0, 1), part=PARTS, refund=refund_ids | NEW_IDS, dies=PLACES)
    def webhook(self, page: str, kind: EventKind, number: int, part: int, refund: str, dies: str) -> None:
        """The provider sends an event; the same number is the same event again. A refund's id may be of another page.

        A capture is most often of all that was due; refunds may be of any part of it.
        """
        self.hear(page, kind, number=number, part=part, refund=refund or None, dies=dies)

    @rule(page=pages, dies=PLACES)
    def page_is_paid(self, page: str, dies: str) -> None:
        """The usual event."""
        self.hear(page, EventKind.CAPTURED, dies=dies)

    def hear(
        self, page: str, kind: EventKind, *, number: int = 0, part: int = 4, refund: str | None = None, dies: str = ""
    ) -> None:
        reservation = self.model.pages[page].reservation
        amount = self.model.amount_of(reservation) * part // 4
        event = event_of(page, reservation, kind=kind, number=number, amount=amount, refund=refund)
        answer = None
        with self.world.dying_at(dies):
            answer = tell(event)
        if dies != "payments.before_commit" or event.event_id in self.model.applied:
            outcome = self.model.hear(event.event_id, Heard(page, kind, amount, refund))
            assert answer in (outcome, None)
            self.follow(page, outcome, dies)

    def follow(self, page: str, outcome: EventOutcome, dies: str) -> None:
        """What comes after the commit of an event."""
        if dies == "payments.after_commit":
            return
        if outcome is EventOutcome.LATE:
            self.model.decide(page, dies=bool(dies))
        elif outcome in (EventOutcome.PAID, EventOutcome.REFUND_STARTED, EventOutcome.REFUNDED):
            self.model.settle([self.model.pages[page].reservation])

    # --- refunds ---

    @rule(target=refund_ids, taken=LineMachine.taken_passes, part=PARTS, refund=st.uuids(version=4).map(str))
    def refund_some(self, taken: tuple[str, int], part: int, refund: str) -> MultipleResults[str]:
        """Staff refund a part of an order."""
        if taken[0] not in self.model.orders:
            return multiple()
        self.ask_for(taken[0], refund, self.model.amount_of(taken[0]) * part // 4)
        return multiple(refund)

    @rule(taken=LineMachine.taken_passes, refund=refund_ids)
    def refund_what_is_left(self, taken: tuple[str, int], refund: str) -> None:
        """Staff type in all that is left; the form may be one that was sent before."""
        if taken[0] in self.model.orders:
            self.ask_for(taken[0], refund, max(self.model.refundable(taken[0]), 1))

    def ask_for(self, reservation: str, refund: str, amount: int) -> None:
        wish = RefundRequest(refund_id=UUID(refund), amount_minor=amount, units_of_line={}, units_back=False)
        outcome = lifecycle.refund_amount(order_id=self.world.order_id(reservation), request=wish)
        assert outcome is self.model.refund_some(reservation, refund, amount)
        if outcome is RefundOutcome.STARTED:
            self.model.settle([reservation])

    @rule(taken=LineMachine.taken_passes, refund=refund_ids)
    def staff_pay_back(self, taken: tuple[str, int], refund: str) -> None:
        """Also of another order, or of a payment that the provider pays back: then nothing changes."""
        known = self.model.refunds.get(refund)
        if taken[0] in self.model.orders:
            paid = refunds.paid_by_staff(
                refund_ids=[UUID(refund)], order_id=self.world.order_id(taken[0]), reference="BACK"
            )
            of_this = known is not None and known.reservation == taken[0]
            assert bool(paid) is (of_this and self.model.paid_by_staff(refund))

    @rule(answer=ANSWERS)
    def ask_provider(self, answer: str) -> None:
        """The sweep, with all refunds due. The provider answers all of them in the same way."""
        past = Now() - timedelta(hours=1)
        Refund.objects.exclude(next_attempt_at=None).update(next_attempt_at=past)
        with mock.patch.object(provider_choice, "provider_named", return_value=StubProvider(answer)):
            done = tasks.move_refunds()
        assert done == self.model.ask_provider(answer)

    @rule(takes_again=st.booleans())
    def policy(self, takes_again: bool) -> None:
        chosen = LatePayment.TAKE_AGAIN if takes_again else LatePayment.REFUND
        Sale.objects.filter(pk=self.world.sale.pk).update(late_payment=chosen)
        self.model.takes_again = takes_again

    @rule()
    def decide_late_money(self) -> None:
        """The sweep, with all late payments due: it decides one after the other until the store cannot answer."""
        undecided = self.model.undecided
        for turn, page in enumerate(undecided):
            moment = Now() - timedelta(hours=1) + timedelta(seconds=turn)
            Payment.objects.filter(pk=page).update(next_attempt_at=moment)
        decided = 0
        for page in undecided:
            if not self.model.decide(page):
                break
            decided += 1
        assert late_money.settle_waiting() == decided

    def money_is_where_the_model_says(self, found: Recorded) -> None:
        assert found.payments == {name: page.status for name, page in self.model.pages.items()}
        assert {row.reservation: row.refunded_minor for row in found.orders} == {
            name: self.model.refunded(name) for name in self.model.orders
        }
        assert Counter(refund[:-1] for refund in found.refunds) == Counter(
            (refund.reservation, refund.page or "", refund.amount, refund.status, refund.is_surplus)
            for refund in self.model.refunds.values()
        )
        # By what PostgreSQL says alone, no more goes back than was paid.
        going: Counter[str] = Counter()
        for refund in found.refunds:
            if refund.paid_minor is not None and refund.status != Refund.Status.FAILED:
                going[refund.page] += refund.amount_minor
                assert going[refund.page] <= refund.paid_minor
        assert not [row for row in found.orders if row.status in SOLD and row.refunded_minor == row.amount_minor]

    def come_to_rest(self) -> None:
        self.apply_waiting()
        super().come_to_rest()
        assert not self.model.undecided


def event_of(
    page: str, reservation: str, *, kind: EventKind, number: int, amount: int, refund: str | None = None
) -> Event:
    return Event(
        event_id=f"{page}-{kind}-{number}",
        kind=kind,
        payment_id=UUID(page),
        provider_reference=page,
        reservation_id=UUID(reservation),
        amount_minor=amount,
        currency=settings.CURRENCY,
        happened_at=timezone.now(),
        refund_id=UUID(refund) if refund else None,
    )


def tell(event: Event) -> EventOutcome:
    return inbox.receive(provider_name=PROVIDER, event=event)
