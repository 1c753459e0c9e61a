"""Refunds: requested until the provider confirms, shown to staff if they keep failing."""

import json
from unittest import mock

import pytest
from django.contrib.auth.models import User

from orders import tasks
from orders.life import lifecycle
from orders.models import Attention, Mail, Order, OrderStatus, Payment, Refund
from orders.payments import provider_choice, refunds
from orders.payments.provider.interface import ProviderRefused, ProviderUnreachable, RefundAnswer, RefundReply
from orders.payments.simulated.models import SimulatedMessage, SimulatedSession
from seckill.models import SaleItem
from tests.steps.buying import order_of
from tests.steps.paying import message, payment_of, send_webhook
from tests.steps.store import figures

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def order(item: SaleItem, buyer: User) -> Order:
    """An order that was paid on the provider's page, by a buyer with an address for mails."""
    User.objects.filter(pk=buyer.pk).update(email="buyer@example.com")
    order = order_of(item, buyer)
    payment = payment_of(order)
    SimulatedSession.objects.update(status=SimulatedSession.Status.CAPTURED)
    send_webhook(message(payment))
    return order


def statuses_of(order: Order) -> tuple[str, str]:
    order.refresh_from_db()
    return order.status, order.payments.get().status


def make_due() -> None:
    Refund.objects.exclude(next_attempt_at=None).update(next_attempt_at="2000-01-01T00:00Z")


def test_the_provider_is_asked_and_its_event_completes_the_refund(order: Order, item: SaleItem) -> None:
    assert lifecycle.refund(order_id=order.pk, units_back=True)
    assert tasks.move_refunds() == 0
    assert statuses_of(order) == (OrderStatus.REFUND_DUE, Payment.Status.REFUND_DUE)
    event = SimulatedMessage.objects.get()
    assert send_webhook(json.loads(event.body)).status_code == 200
    assert statuses_of(order) == (OrderStatus.REFUNDED, Payment.Status.REFUNDED)
    assert order.mails.filter(kind=Mail.Kind.REFUNDED).count() == 1
    assert figures(item) == (5, 0, 0, 0)


def test_a_provider_that_confirms_at_once_completes_the_refund_at_once(order: Order) -> None:
    lifecycle.refund(order_id=order.pk, units_back=False)
    answer = RefundReply(RefundAnswer.DONE, reference="re_1")
    with mock.patch.object(provider_choice.provider_named("simulated").__class__, "refund", return_value=answer):
        assert tasks.move_refunds() == 1
        assert tasks.move_refunds() == 0
    assert statuses_of(order) == (OrderStatus.REFUNDED, Payment.Status.REFUNDED)


@pytest.mark.parametrize("error", [ProviderUnreachable("away"), ProviderRefused("no")])
def test_a_refund_that_fails_is_repeated_and_then_shown(order: Order, error: Exception) -> None:
    lifecycle.refund(order_id=order.pk, units_back=True)
    with mock.patch.object(provider_choice.provider_named("simulated").__class__, "refund", side_effect=error) as asked:
        for _ in range(refunds.ATTEMPTS_BEFORE_ATTENTION):
            assert tasks.move_refunds() == 0
            assert tasks.move_refunds() == 0  # not due yet
            make_due()
    assert asked.call_count == refunds.ATTEMPTS_BEFORE_ATTENTION
    order.refresh_from_db()
    payment = order.payments.get()
    assert (order.attention, order.refunds.get().last_error) == (Attention.REFUND_FAILS, str(error))
    # The provider can be reached again.
    tasks.move_refunds()
    send_webhook(message(payment, "refunded"))
    order.refresh_from_db()
    assert (order.status, order.attention) == (OrderStatus.REFUNDED, "")


def test_a_crash_after_the_provider_has_refunded_does_not_refund_twice(order: Order) -> None:
    lifecycle.refund(order_id=order.pk, units_back=True)

    class Died(BaseException):
        pass

    def die(name: str) -> None:
        if name == "refund.after_provider":
            raise Died

    with mock.patch("shop.failpoints.reach", die), pytest.raises(Died):
        tasks.move_refunds()
    make_due()
    tasks.move_refunds()
    assert SimulatedMessage.objects.count() == 1
    assert SimulatedSession.objects.get().status == SimulatedSession.Status.REFUNDED


def test_the_provider_is_never_asked_within_a_transaction(order: Order) -> None:
    """The simulated company's transactions raise if they are nested."""
    lifecycle.refund(order_id=order.pk, units_back=True)
    assert tasks.move_refunds() == 0
    assert order.refunds.get().last_error == ""
