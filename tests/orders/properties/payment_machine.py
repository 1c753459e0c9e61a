"""The machine with payment pages and webhooks: repeated, late, out of order, or before their payment exists."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, invariant, multiple, rule

from orders.models import Order, Payment
from orders.payments import inbox, late_money
from orders.payments.inbox import EventOutcome
from orders.payments.provider.interface import Event, EventKind
from seckill.models import LatePayment, Sale
from tests.orders.properties.payment_model import Page, PaymentModel
from tests.orders.properties.sale_machine import SaleMachine

KINDS = st.sampled_from([EventKind.CAPTURED, EventKind.CAPTURED, *EventKind])
PLACES = st.sampled_from(["", "", "", "payments.before_commit", "payments.after_commit", "late_payment.after_restore"])
PROVIDER = "simulated"


class PaymentMachine(SaleMachine):
    pages: Bundle[Any] = Bundle("pages")
    model_type = PaymentModel

    @rule(target=pages, taken=SaleMachine.taken_passes, is_early=st.booleans())
    def open_page(self, taken: tuple[str, int], is_early: bool) -> MultipleResults[str]:
        """A payment page, as orders/payments/sessions.py opens one; its first event may arrive before its row."""
        reservation = taken[0]
        if not self.model.may_open(reservation):
            return multiple()
        page = str(uuid4())
        if is_early:
            assert self.tell(page, reservation, EventKind.CAPTURED, 0) is EventOutcome.WAITING
        order = Order.objects.get(reservation_id=reservation)
        Payment.objects.create(
            pk=page,
            order=order,
            provider=PROVIDER,
            idempotency_key=page,
            amount_minor=order.amount_minor,
            currency=order.currency,
        )
        self.model.pages[page] = Page(reservation)
        if is_early:
            assert inbox.apply_waiting() == 1
            self.model.heard.add(f"{page}-{EventKind.CAPTURED}-0")
            self.follow(page, self.model.hear(page, EventKind.CAPTURED), "")
        return multiple(page)

    @rule(page=pages, kind=KINDS, number=st.integers(0, 1), dies=PLACES)
    def webhook(self, page: str, kind: EventKind, number: int, dies: str) -> None:
        """The provider sends an event; the same number is the same event again."""
        if kind == EventKind.REFUND_FAILED:
            return
        answer = None
        with self.world.dying_at(dies):
            answer = self.tell(page, self.model.pages[page].reservation, kind, number)
        event_id = f"{page}-{kind}-{number}"
        if event_id in self.model.heard:
            assert answer is EventOutcome.DUPLICATE
        elif dies != "payments.before_commit":
            self.model.heard.add(event_id)
            applied = self.model.hear(page, kind)
            assert answer in (applied, None)
            self.follow(page, applied, dies)

    def tell(self, page: str, reservation: str, kind: EventKind, number: int) -> EventOutcome:
        order = Order.objects.get(reservation_id=reservation)
        event = Event(
            event_id=f"{page}-{kind}-{number}",
            kind=kind,
            payment_id=UUID(page),
            provider_reference=page,
            reservation_id=UUID(reservation),
            amount_minor=order.amount_minor,
            currency=settings.CURRENCY,
            happened_at=timezone.now(),
        )
        return inbox.receive(provider_name=PROVIDER, event=event)

    def follow(self, page: str, applied: EventOutcome, dies: str) -> None:
        """What comes after the commit of an event."""
        if dies == "payments.after_commit":
            return
        if applied is EventOutcome.LATE:
            self.model.decide(self.model.pages[page], dies=bool(dies))
        elif applied in (EventOutcome.PAID, EventOutcome.GOES_BACK, EventOutcome.REFUNDED):
            self.model.settle([self.model.pages[page].reservation])

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
            if not self.model.decide(self.model.pages[page]):
                break
            decided += 1
        assert late_money.settle_waiting() == decided

    @invariant()
    def money_is_where_the_model_says(self) -> None:
        rows = Payment.objects.filter(order__lines__sale_item_id=self.world.item_id)
        assert {str(pk): status for pk, status in rows.values_list("pk", "status")} == {
            name: page.status for name, page in self.model.pages.items()
        }

    def come_to_rest(self) -> None:
        super().come_to_rest()
        assert not self.model.undecided
