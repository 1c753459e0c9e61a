"""The simulated payment company: its page, its buttons, and its webhooks."""

import json
import re
from typing import Any
from unittest import mock

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.test import Client

from orders import tasks
from orders.life import lifecycle
from orders.models import Order, OrderStatus, Payment, PaymentEvent, Refund
from orders.payments import provider_choice
from orders.payments.provider.interface import ProviderRefused, Session
from orders.payments.simulated import company, delivery
from orders.payments.simulated.adapter import SIGNATURE_HEADER, signature_header
from orders.payments.simulated.models import SimulatedMessage, SimulatedSession
from orders.payments.stripe_checkout import StripeProvider
from seckill.models import SaleItem
from shop.databases.database_clock import database_now
from shop.languages.page_language import path_in
from tests.steps.buying import status_of
from tests.steps.paying import WEBHOOK, message, payment_of, refund_part, send_webhook
from tests.steps.store import figures

pytestmark = pytest.mark.django_db(transaction=True)

LONG_AGO = "2000-01-01T00:00Z"


@pytest.fixture
def shop_receives_webhooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Webhooks go to the shop in this process; tests/orders/payments/test_payment_journey.py has real HTTP."""

    def post(*, body: bytes) -> None:
        header = signature_header(body=body, signed_s=int(database_now().timestamp()))
        answer = Client().post(WEBHOOK, body, content_type="application/json", headers={SIGNATURE_HEADER: header})
        if answer.status_code != 200:
            raise delivery.NotDelivered(answer.content)

    monkeypatch.setattr(delivery, "post", post)


def press(payment: Payment, action: str, **fields: str) -> Any:
    """Submit the page's form with its CSRF token, as a browser without JavaScript does."""
    client = Client(enforce_csrf_checks=True)
    page = client.get(payment.url).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token
    return client.post(payment.url, {"csrfmiddlewaretoken": token[1], "action": action, **fields})


def test_the_page_says_what_is_to_be_paid_in_the_readers_language(payment: Payment, client: Client) -> None:
    page = client.get(path_in("zh-hans", payment.url))
    assert page.status_code == 200
    assert "¥19.00" in page.content.decode()
    assert "模拟支付" in page.content.decode()
    english = client.get(payment.url).content.decode()
    assert re.search(r'<button[^>]*value="pay"[^>]*>Pay</button>', english)
    assert payment.order.get_absolute_url() in english
    for unknown in ("sim_unknown", "%00", "sim_%00"):
        assert client.get(f"/pay/simulated/{unknown}/").status_code == 404, unknown
    # The form is protected, and the company is a server of its own.
    assert Client(enforce_csrf_checks=True).post(payment.url, {"action": "pay"}).status_code == 403
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        company.pay(reference=payment.provider_reference)
    assert SimulatedSession.objects.get().status == SimulatedSession.Status.OPEN


def test_paying_leads_back_and_the_money_comes_by_message(
    item: SaleItem, order: Order, payment: Payment, shop_receives_webhooks: None
) -> None:
    answer = press(payment, "pay")
    assert (answer.status_code, answer["Location"]) == (302, f"{order.get_absolute_url()}?payment=returned")
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT
    # The page can be paid once.
    assert "Payment complete." in Client().post(payment.url, {"action": "pay"}, follow=True).content.decode()
    event = json.loads(SimulatedMessage.objects.get().body)
    assert (event["kind"], event["payment"], event["amount_minor"]) == ("captured", str(payment.pk), 1900)
    assert (event["currency"], event["reservation"]) == ("CNY", str(order.reservation_id))
    assert tasks.deliver_simulated_events() == 1
    assert tasks.deliver_simulated_events() == 0
    assert status_of(order) == OrderStatus.PAID
    assert figures(item) == (4, 0, 1, 1)


def test_declined_the_buyer_may_try_again(order: Order, payment: Payment, shop_receives_webhooks: None) -> None:
    press(payment, "decline")
    assert tasks.deliver_simulated_events() == 1
    payment.refresh_from_db()
    assert (status_of(order), payment.status) == (OrderStatus.AWAITING_PAYMENT, Payment.Status.FAILED)
    second = payment_of(order, key="second")
    press(second, "pay")
    tasks.deliver_simulated_events()
    assert status_of(order) == OrderStatus.PAID


def test_a_slow_payment_arrives_later_and_its_page_cannot_be_closed(
    order: Order, payment: Payment, shop_receives_webhooks: None, client: Client
) -> None:
    press(payment, "pay_slowly")
    assert tasks.deliver_simulated_events() == 0
    assert "being processed" in client.get(payment.url).content.decode()
    with pytest.raises(ProviderRefused):
        provider_choice.provider_named("simulated").close_session(payment=payment)
    SimulatedSession.objects.update(captures_at=LONG_AGO)
    assert tasks.deliver_simulated_events() == 1
    assert status_of(order) == OrderStatus.PAID


@pytest.mark.parametrize("delivery", ["twice", "late", "early", "out_of_order"])
def test_however_the_webhooks_arrive_the_order_is_paid_once(
    item: SaleItem, order: Order, payment: Payment, shop_receives_webhooks: None, delivery: str
) -> None:
    press(payment, "pay", delivery=delivery)
    if delivery == "early":
        assert status_of(order) == OrderStatus.PAID
    if delivery == "late":
        assert tasks.deliver_simulated_events() == 0
    for _ in range(2):
        SimulatedMessage.objects.update(deliver_at=LONG_AGO)
        tasks.deliver_simulated_events()
    assert not SimulatedMessage.objects.filter(delivered_at=None).exists()
    assert status_of(order) == OrderStatus.PAID
    assert PaymentEvent.objects.count() == (2 if delivery == "out_of_order" else 1)
    assert figures(item) == (4, 0, 1, 1)


def test_in_production_the_page_offers_no_misbehaving_webhooks(
    payment: Payment, client: Client, settings: LazySettings
) -> None:
    settings.LOAD_TESTS = False
    assert "out_of_order" not in client.get(payment.url).content.decode()
    press(payment, "pay", delivery="twice")
    assert SimulatedMessage.objects.count() == 1
    settings.PAYMENT_PROVIDERS = []
    assert client.get(payment.url).status_code == 404


def test_a_message_that_the_shop_does_not_accept_is_sent_again(
    order: Order, payment: Payment, settings: LazySettings
) -> None:
    settings.SHOP_URL = "http://127.0.0.1:1"
    press(payment, "pay")
    assert tasks.deliver_simulated_events() == 0
    waiting = SimulatedMessage.objects.get()
    assert (waiting.attempts, waiting.delivered_at) == (1, None)
    assert "refused" in waiting.last_error
    assert waiting.deliver_at > waiting.session.created_at


def test_the_page_of_a_cancelled_order_says_so(order: Order, payment: Payment, client: Client) -> None:
    lifecycle.cancel(order_id=order.pk)
    tasks.close_sessions()
    page = client.get(payment.url).content.decode()
    assert "This payment page has expired" in page
    assert 'name="action"' not in page


def test_a_refund_is_done_at_once_where_the_shop_no_longer_offers_the_simulated_provider(
    order: Order, payment: Payment, settings: LazySettings
) -> None:
    """No sweep delivers its messages there."""
    # Given a payment of the time before, and a shop with another provider
    assert company.pay(reference=payment.provider_reference)
    send_webhook(message(payment))
    settings.PAYMENT_PROVIDERS = ["stripe"]
    # When staff refund a part, and then the rest
    refund_part(order, 700)
    assert tasks.move_refunds() == 1
    assert lifecycle.refund(order_id=order.pk, units_back=True)
    assert tasks.move_refunds() == 1
    # Then both are done
    assert status_of(order) == OrderStatus.REFUNDED
    assert set(Refund.objects.values_list("status", flat=True)) == {Refund.Status.REFUNDED}


def test_an_order_is_paid_with_the_new_provider_where_its_open_page_is_gone(
    order: Order, payment: Payment, settings: LazySettings
) -> None:
    settings.PAYMENT_PROVIDERS = ["stripe"]
    with mock.patch.object(StripeProvider, "open_session", return_value=Session("cs_1", "https://stripe.test/cs_1")):
        again = payment_of(order, key="again")
    payment.refresh_from_db()
    assert (again.provider, again.url) == ("stripe", "https://stripe.test/cs_1")
    assert (payment.status, payment.closed_at is not None) == (Payment.Status.FAILED, True)


def test_a_page_of_the_former_provider_that_was_paid_stays_the_only_one(
    order: Order, payment: Payment, settings: LazySettings
) -> None:
    assert company.pay(reference=payment.provider_reference)
    settings.PAYMENT_PROVIDERS = ["stripe"]
    assert payment_of(order, key="again").pk == payment.pk
