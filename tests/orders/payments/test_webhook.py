"""Webhooks: forged, repeated, early, late and out of order; and what payments do to the order."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from orders import tasks
from orders.life import lifecycle, settlement
from orders.models import Attention, Mail, Order, OrderStatus, Payment, PaymentEvent
from orders.payments import late_money, sessions
from seckill.models import SaleItem
from tests.steps.at_once import at_once
from tests.steps.buying import let_deadlines_pass, order_of, with_address
from tests.steps.paying import WEBHOOK, make_due, message, payment_of, send_webhook
from tests.steps.store import figures, store_away

pytestmark = pytest.mark.django_db(transaction=True)


def statuses_of(order: Order) -> tuple[str, str]:
    order.refresh_from_db()
    return order.status, order.attention


def test_captured_money_pays_the_order_and_sells_the_units(item: SaleItem, buyer: User) -> None:
    with_address(buyer)
    order = order_of(item, buyer)
    payment = payment_of(order)
    assert send_webhook(message(payment)).status_code == 200
    payment.refresh_from_db()
    assert (statuses_of(order), payment.status) == ((OrderStatus.PAID, ""), Payment.Status.CAPTURED)
    assert payment.captured_at is not None
    assert order.settled_at is not None
    assert figures(item) == (4, 0, 1, 1)
    assert [mail.kind for mail in order.mails.all()] == [Mail.Kind.PAID]


def test_a_message_that_is_forged_or_old_does_nothing(order: Order) -> None:
    event = message(payment_of(order))
    forged = [send_webhook(event, signature=text) for text in ("t=1,v1=00", "nonsense", "t=x,v1=00")]
    forged.append(send_webhook({"kind": "captured"}))
    forged.append(Client().post(WEBHOOK, event, content_type="application/json"))
    old = [send_webhook(event, signed_ago_seconds=seconds) for seconds in (301, -301)]
    for answers, code in ((forged, "signature_invalid"), (old, "signature_expired")):
        assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(400, code)}
        assert {answer["Content-Type"] for answer in answers} == {"application/problem+json"}
    assert statuses_of(order)[0] == OrderStatus.AWAITING_PAYMENT
    assert not PaymentEvent.objects.exists()


def test_webhooks_are_posted_with_their_length_and_each_provider_has_its_own(client: Client) -> None:
    assert client.post("/api/v1/payments/nobody/webhook/").status_code == 404
    assert client.get(WEBHOOK).status_code == 405
    answer = APIClient().generic("POST", WEBHOOK, HTTP_TRANSFER_ENCODING="chunked")
    assert (answer.status_code, answer.json()["code"]) == (411, "length_required")


def test_a_message_that_comes_again_and_ten_times_at_once_is_applied_once(order: Order, item: SaleItem) -> None:
    event = message(payment_of(order))
    assert at_once([lambda: send_webhook(event).status_code] * 10) == [200] * 10
    assert send_webhook(event).status_code == 200
    assert PaymentEvent.objects.count() == 1
    assert statuses_of(order) == (OrderStatus.PAID, "")
    # The same capture in another event.
    assert send_webhook(message(order.payments.get())).status_code == 200
    assert statuses_of(order) == (OrderStatus.PAID, "")
    assert figures(item) == (4, 0, 1, 1)


def test_a_message_that_comes_before_its_payment_waits_for_it(order: Order, payment: Payment) -> None:
    event = message(payment)
    Payment.objects.all().delete()
    assert send_webhook(event).status_code == 200
    assert PaymentEvent.objects.get().applied_at is None
    assert tasks.apply_waiting_events() == 0
    payment.save(force_insert=True)
    assert tasks.apply_waiting_events() == 1
    assert tasks.apply_waiting_events() == 0
    assert statuses_of(order) == (OrderStatus.PAID, "")
    assert PaymentEvent.objects.get().outcome == "paid"


def test_a_capture_counts_even_if_the_page_was_reported_as_ended(order: Order, payment: Payment) -> None:
    for kind in ("declined", "expired"):
        send_webhook(message(payment, kind))
        payment.refresh_from_db()
        assert payment.status == Payment.Status.FAILED, kind
    second = payment_of(order, key="second")
    assert second.pk != payment.pk
    send_webhook(message(payment))
    second.refresh_from_db()
    assert (statuses_of(order)[0], second.status) == (OrderStatus.PAID, Payment.Status.FAILED)
    # The second page was superseded: it is closed, or its payment is refunded.
    send_webhook(message(second))
    second.refresh_from_db()
    assert statuses_of(order) == (OrderStatus.PAID, Attention.PAID_TWICE)
    assert second.status == Payment.Status.REFUND_DUE
    # An event about its page changes nothing after the capture.
    for kind in ("declined", "expired"):
        assert send_webhook(message(payment, kind)).status_code == 200
        payment.refresh_from_db()
        assert (statuses_of(order)[0], payment.status) == (OrderStatus.PAID, Payment.Status.CAPTURED), kind


def test_a_capture_after_the_deadline_pays_an_order_that_is_not_expired_yet(order: Order, payment: Payment) -> None:
    let_deadlines_pass()
    send_webhook(message(payment))
    assert statuses_of(order) == (OrderStatus.PAID, "")
    assert tasks.expire_overdue() == 0


@pytest.mark.parametrize("status", [OrderStatus.PAID, OrderStatus.SHIPPED])
def test_money_for_an_order_that_staff_recorded_as_paid_goes_back(
    order: Order, payment: Payment, status: OrderStatus
) -> None:
    lifecycle.pay(order_id=order.pk)
    assert status == OrderStatus.PAID or lifecycle.ship(order_id=order.pk)
    send_webhook(message(payment))
    payment.refresh_from_db()
    assert statuses_of(order) == (status, Attention.PAID_TWICE)
    assert payment.status == Payment.Status.REFUND_DUE
    send_webhook(message(payment, "refunded"))
    payment.refresh_from_db()
    assert (statuses_of(order)[0], payment.status) == (status, Payment.Status.REFUNDED)


def test_a_wrong_amount_pays_nothing_and_is_refunded(order: Order) -> None:
    changes: list[dict[str, Any]] = [{"amount_minor": 1}, {"currency": "EUR"}]
    for change in changes:
        payment = payment_of(order, key=str(change))
        send_webhook(message(payment, **change))
        payment.refresh_from_db()
        assert statuses_of(order) == (OrderStatus.AWAITING_PAYMENT, Attention.AMOUNT_DIFFERS), change
        assert payment.status == Payment.Status.REFUND_DUE, change
        # What was captured goes back, and nothing of the order's money.
        refund = payment.refunds.get()
        assert (refund.amount_minor, refund.is_surplus) == (change.get("amount_minor", 1900), True)
        assert order.refunded_minor == 0
    # The buyer may still pay what is due.
    right = payment_of(order, key="again")
    send_webhook(message(right))
    assert statuses_of(order)[0] == OrderStatus.PAID


@pytest.mark.parametrize("status", [OrderStatus.CANCELLED, OrderStatus.REJECTED])
def test_money_for_a_cancelled_or_rejected_order_goes_back(
    order: Order, payment: Payment, item: SaleItem, status: OrderStatus
) -> None:
    lifecycle.end_unpaid(order_ids=[order.pk], status=status)
    settlement.settle_orders()
    send_webhook(message(payment))
    assert statuses_of(order) == (OrderStatus.REFUND_DUE, Attention.LATE_PAYMENT_REFUNDED)
    send_webhook(message(payment, "refunded"))
    assert statuses_of(order)[0] == OrderStatus.REFUNDED
    assert figures(item) == (5, 0, 0, 0)


def test_a_second_late_payment_leaves_the_first_to_be_decided(
    item: SaleItem, buyer: User, settings: LazySettings
) -> None:
    """Else the order would be refunded with the second, and the first would stay with the shop."""
    order = order_of(item, buyer)
    first = payment_of(order)
    send_webhook(message(first, "declined"))
    second = payment_of(order, key="second")
    let_deadlines_pass()
    tasks.expire_overdue()
    healthy = store_away(settings)
    for payment in (first, second):
        send_webhook(message(payment))
    settings.CACHES = healthy
    assert statuses_of(order)[0] == OrderStatus.EXPIRED
    make_due(Payment)
    late_money.settle_waiting()
    assert statuses_of(order)[0] == OrderStatus.PAID
    send_webhook(message(second, "refunded"))
    assert statuses_of(order)[0] == OrderStatus.PAID
    assert sorted(order.payments.values_list("status", flat=True)) == ["captured", "refunded"]


def test_with_the_store_away_the_provider_is_answered_and_the_store_told_later(
    order: Order, payment: Payment, item: SaleItem, settings: LazySettings
) -> None:
    healthy = store_away(settings)
    assert send_webhook(message(payment)).status_code == 200
    assert statuses_of(order)[0] == OrderStatus.PAID
    settings.CACHES = healthy
    assert tasks.settle_orders() == 1
    assert figures(item) == (4, 0, 1, 1)


def test_a_message_of_another_provider_pays_nothing(order: Order, payment: Payment) -> None:
    Payment.objects.update(provider="stripe")
    assert send_webhook(message(payment)).status_code == 200
    assert statuses_of(order)[0] == OrderStatus.AWAITING_PAYMENT


def test_a_capture_brings_the_reference_that_a_crash_lost(payment: Payment) -> None:
    Payment.objects.update(provider_reference="", url="")
    send_webhook(message(payment))
    assert Payment.objects.get().provider_reference == payment.provider_reference
    assert sessions.close_sessions() == 0
