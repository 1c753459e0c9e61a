"""Money that the payment company has and never reports is looked after by staff."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client

from orders import tasks
from orders.account.deletion import NotNow, delete_account
from orders.life import lifecycle
from orders.models import Attention, Order, OrderStatus, Payment, PaymentEvent
from orders.payments import inbox, sessions
from orders.payments.simulated import company
from orders.payments.simulated.models import SimulatedMessage, SimulatedSession
from seckill.models import SaleItem
from shop.databases.database_clock import database_now
from tests.steps.buying import buyer_of, let_deadlines_pass, order_of
from tests.steps.paying import make_due, message, payment_of, send_webhook
from tests.steps.staff import LOOK_AT, mark_resolved

pytestmark = pytest.mark.django_db(transaction=True)


def expire() -> None:
    let_deadlines_pass()
    assert tasks.expire_overdue() == 1


def try_again() -> None:
    make_due(Payment)
    assert tasks.close_sessions() == 0


def let_an_hour_pass() -> None:
    try_again()
    Payment.objects.update(found_paid_at=F("found_paid_at") - sessions.UNREPORTED_AFTER)
    try_again()


def attention_of(order: Order) -> str:
    return Order.objects.values_list("attention", flat=True).get(pk=order.pk)


@pytest.fixture
def unheard(order: Order, payment: Payment) -> Order:
    """Paid on the company's page, whose message is lost; then the order expired."""
    assert company.pay(reference=payment.provider_reference)
    SimulatedMessage.objects.all().delete()
    expire()
    return order


def test_an_order_that_was_paid_unreported_is_listed_for_staff_after_an_hour(
    unheard: Order, as_manager: Client
) -> None:
    buyer, as_buyer = buyer_of(unheard), Client()
    as_buyer.force_login(buyer)
    # At first the event may still be on its way.
    try_again()
    assert attention_of(unheard) == ""
    text = as_buyer.get(unheard.get_absolute_url()).text
    assert "The payment company says that you paid" in text
    assert "we do not know yet" not in text
    with pytest.raises(NotNow):
        delete_account(buyer.pk)
    let_an_hour_pass()
    assert attention_of(unheard) == Attention.PAYMENT_UNREPORTED
    assert unheard.shown_code in as_manager.get(LOOK_AT).text
    with pytest.raises(NotNow):
        delete_account(buyer.pk)
    # And the company is not asked for ever.
    attempts = Payment.objects.get().attempts
    try_again()
    assert (Payment.objects.get().attempts, Payment.objects.get().status) == (attempts, Payment.Status.PENDING)
    # Once staff have resolved it, it is not listed again.
    mark_resolved(as_manager, unheard)
    let_an_hour_pass()
    assert attention_of(unheard) == ""
    delete_account(buyer.pk)


def test_the_buyers_page_waits_no_longer_once_staff_have_dealt_with_the_payment(
    unheard: Order, payment: Payment, as_manager: Client
) -> None:
    let_an_hour_pass()
    mark_resolved(as_manager, unheard)
    payment.refresh_from_db()
    assert payment.status == Payment.Status.FAILED
    as_manager.force_login(buyer_of(unheard))
    text = as_manager.get(unheard.get_absolute_url()).content.decode()
    assert "The payment company said that you paid, but never reported it to us." in text
    assert "Nothing was charged" not in text
    assert "updates automatically" not in text
    # And an event that comes after all still counts
    assert send_webhook(message(payment)).status_code == 200
    unheard.refresh_from_db()
    assert (unheard.status, unheard.attention) == (OrderStatus.PAID, Attention.LATE_PAYMENT_KEPT)


@pytest.mark.parametrize(("is_resolved_first", "part_minor"), [(True, 0), (False, 0), (False, 500)])
def test_the_refund_that_staff_were_told_to_make_is_nothing_to_do(
    unheard: Order, payment: Payment, as_manager: Client, is_resolved_first: bool, part_minor: int
) -> None:
    """It is reported without its payment, before or after they say that they have dealt with that."""
    let_an_hour_pass()
    if is_resolved_first:
        mark_resolved(as_manager, unheard)
    so_far = {"amount_minor": part_minor} if part_minor else {}
    send_webhook(message(payment, "refunded_so_far" if part_minor else "refunded", **so_far))
    PaymentEvent.objects.update(received_at=F("received_at") - inbox.GIVEN_UP_AFTER)
    assert tasks.apply_waiting_events() == 1
    if not is_resolved_first:
        assert attention_of(unheard) == Attention.PAYMENT_UNREPORTED
        mark_resolved(as_manager, unheard)
    # The company keeps the rest of a payment of which a part went back
    assert attention_of(unheard) == (Attention.REFUND_WITHOUT_PAYMENT if part_minor else "")


@pytest.mark.parametrize("at_once", [True, False])
def test_the_refund_of_all_may_come_in_two_steps(
    unheard: Order, payment: Payment, as_manager: Client, at_once: bool
) -> None:
    let_an_hour_pass()
    mark_resolved(as_manager, unheard)
    for kind, amount_minor in (("refunded_so_far", 500), ("refunded", payment.amount_minor)):
        send_webhook(message(payment, kind, amount_minor=amount_minor))
        if kind == "refunded" or not at_once:
            PaymentEvent.objects.update(received_at=F("received_at") - inbox.GIVEN_UP_AFTER)
            tasks.apply_waiting_events()
    assert not PaymentEvent.objects.filter(applied_at=None).exists()
    assert attention_of(unheard) == ""


def test_a_refund_that_staff_made_and_that_has_failed_is_listed(
    unheard: Order, payment: Payment, as_manager: Client
) -> None:
    let_an_hour_pass()
    mark_resolved(as_manager, unheard)
    send_webhook(message(payment, "refund_failed"))
    PaymentEvent.objects.update(received_at=F("received_at") - inbox.GIVEN_UP_AFTER)
    assert tasks.apply_waiting_events() == 1
    assert attention_of(unheard) == Attention.REFUND_WITHOUT_PAYMENT


def test_another_reason_to_look_at_the_order_comes_first(unheard: Order, payment: Payment, as_manager: Client) -> None:
    Order.objects.update(attention=Attention.AMOUNT_DIFFERS)
    let_an_hour_pass()
    assert attention_of(unheard) == Attention.AMOUNT_DIFFERS
    mark_resolved(as_manager, unheard)
    payment.refresh_from_db()
    assert payment.status == Payment.Status.PENDING
    try_again()
    assert attention_of(unheard) == Attention.PAYMENT_UNREPORTED


@pytest.mark.parametrize("wait", [try_again, let_an_hour_pass])
def test_an_event_that_comes_after_all_decides(unheard: Order, payment: Payment, wait: Any) -> None:
    wait()
    assert send_webhook(message(payment)).status_code == 200
    unheard.refresh_from_db()
    assert (unheard.status, unheard.attention) == (OrderStatus.PAID, Attention.LATE_PAYMENT_KEPT)
    let_an_hour_pass()
    assert attention_of(unheard) == Attention.LATE_PAYMENT_KEPT


def test_a_slow_payment_is_not_listed(order: Order, payment: Payment) -> None:
    assert company.pay_slowly(reference=payment.provider_reference)
    expire()
    let_an_hour_pass()
    payment.refresh_from_db()
    assert (attention_of(order), payment.found_paid_at, payment.closed_at) == ("", None, None)


def test_a_slow_payment_is_asked_about_ever_more_rarely_and_at_last_no_more(order: Order, payment: Payment) -> None:
    """The company cannot close a page whose money is on its way."""
    assert company.pay_slowly(reference=payment.provider_reference)
    expire()
    for _ in range(20):
        try_again()
    payment.refresh_from_db()
    assert payment.next_attempt_at
    assert payment.next_attempt_at > database_now() + timedelta(hours=5)
    # When no money has come for a month
    Payment.objects.update(created_at=F("created_at") - sessions.SLOW_MONEY_MAX)
    make_due(Payment)
    assert (tasks.close_sessions(), tasks.close_sessions()) == (1, 0)
    payment.refresh_from_db()
    assert (payment.status, payment.closed_at is None) == (Payment.Status.FAILED, False)
    # Then it still counts if it comes after all
    send_webhook(message(payment))
    assert attention_of(order) == Attention.LATE_PAYMENT_KEPT


def test_a_second_payment_of_a_paid_order_is_listed_too(order: Order, payment: Payment) -> None:
    send_webhook(message(payment, "declined"))
    Payment.objects.update(closed_at=None)
    second = payment_of(order, key="second")
    assert company.pay(reference=payment.provider_reference)
    assert company.pay(reference=second.provider_reference)
    send_webhook(message(second))
    let_an_hour_pass()
    assert attention_of(order) == Attention.PAYMENT_UNREPORTED
    send_webhook(message(payment))
    assert attention_of(order) == Attention.PAID_TWICE


def cancelled(item: SaleItem, buyers: Sequence[User]) -> list[Payment]:
    orders = [order_of(item, buyer) for buyer in buyers]
    payments = [payment_of(order) for order in orders]
    for order in orders:
        assert lifecycle.cancel(order_id=order.pk)
    return payments


def test_pages_that_cannot_be_closed_keep_no_new_page_open(item: SaleItem, buyer: User, rival: User) -> None:
    (stuck,) = cancelled(item, [buyer])
    SimulatedSession.objects.update(status=SimulatedSession.Status.PROCESSING)
    assert sessions.close_sessions(batch_max=1) == 0
    make_due(Payment)
    (new,) = cancelled(item, [rival])
    assert sessions.close_sessions(batch_max=1) == 1
    new.refresh_from_db()
    stuck.refresh_from_db()
    assert (new.closed_at is not None, stuck.closed_at) == (True, None)
