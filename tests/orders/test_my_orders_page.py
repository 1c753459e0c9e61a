"""The buyer's own pages: my orders, one order with its buttons, and the way to it without JavaScript."""

from datetime import timedelta
from unittest import mock
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from orders import tasks
from orders.mails.message import message_of
from orders.models import Mail, Order, OrderStatus, Payment
from orders.payments.provider.interface import ProviderUnreachable
from orders.payments.simulated.adapter import SimulatedProvider
from orders.shipping.order_address import store_address
from seckill.models import Sale, SaleItem
from shop.models import Product
from tests.steps.buying import ADDRESS, make_orders, order_of, reserve, status_of
from tests.steps.paying import message, send_webhook
from tests.steps.shop import make_item, text_of
from tests.steps.staff import messages_on
from tests.steps.store import counters_of, store_away

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def order(client: Client, item: SaleItem, buyer: User) -> Order:
    """With an address. Its buyer is signed in."""
    client.force_login(buyer)
    return with_delivery(order_of(item, buyer))


def with_delivery(order: Order) -> Order:
    store_address(order_id=order.pk, values=ADDRESS)
    return order


def end(order: Order, status: OrderStatus) -> None:
    Order.objects.filter(pk=order.pk).update(status=status, ended_at=timezone.now())


def test_a_stranger_is_asked_to_sign_in_and_then_led_back(client: Client, buyer: User) -> None:
    answer = client.get("/orders/")
    assert answer["Location"] == "/accounts/login/?next=/orders/"
    answer = client.post(answer["Location"], {"login": "buyer", "password": "buyer-password"})
    assert answer["Location"] == "/orders/"
    assert "You have no orders yet." in text_of(client, "/orders/")
    assert "您还没有订单。" in text_of(client, "/zh-hans/orders/")


def test_an_order_is_listed_with_units_amount_status_and_deadline(
    as_buyer: Client, product: Product, buyer: User
) -> None:
    order = with_delivery(order_of(make_item(product, per_buyer_max=3), buyer, units=2))
    text = text_of(as_buyer, "/zh-hans/orders/")
    assert order.shown_code in text
    for words in ("龙井茶", "2 × ¥19.00", "¥38.00", "待付款", "付款剩余时间"):
        assert words in text
    page = text_of(as_buyer, order.get_absolute_url())
    assert "No e-mail address" in page
    assert 'href="/accounts/email/"' in page
    assert f'data-countdown="{int(order.expires_at.timestamp() * 1000)}"' in text


def test_the_list_asks_again_only_while_something_awaits_payment(client: Client, order: Order) -> None:
    for path in ("/orders/", order.get_absolute_url()):
        assert "hx-trigger" in text_of(client, path)
        part = text_of(client, path, hx_request="true")
        assert "<html" not in part
        assert "hx-trigger" in part
    end(order, OrderStatus.PAID)
    for path in ("/orders/", order.get_absolute_url()):
        assert "hx-trigger" not in text_of(client, path, hx_request="true")


def test_a_payment_that_cannot_be_begun_is_explained(client: Client, order: Order, settings: Settings) -> None:
    with mock.patch.object(SimulatedProvider, "open_session", side_effect=ProviderUnreachable):
        answer = client.post(order.pay_path, follow=True)
    assert messages_on(answer) == ["The payment company is not answering right now. Please try again in a moment."]
    assert "We are waiting for your payment to be confirmed." not in answer.content.decode()
    # Without a provider, the page says how to pay, and has no button.
    settings.PAYMENT_PROVIDERS = []
    text = text_of(client, order.get_absolute_url())
    assert "This shop does not take online payments yet" in text
    assert 'id="pay"' not in text
    answer = client.post(order.pay_path, follow=True)
    assert messages_on(answer) == ["This shop does not take online payments yet."]


def test_the_button_leads_to_the_payment_page_and_pressed_again_to_the_same(client: Client, order: Order) -> None:
    first = client.post(order.pay_path)["Location"]
    assert first == Payment.objects.get().url
    assert client.post(order.pay_path)["Location"] == first
    assert client.get(order.pay_path)["Location"] == order.get_absolute_url()
    # A form of ours may not lead to a payment page of another company, so a page of ours does.
    Payment.objects.update(url="https://pay.example.com/session/1")
    answer = client.post(order.pay_path)
    assert answer.status_code == 200
    assert 'content="0; url=https://pay.example.com/session/1"' in answer.content.decode()


def test_coming_back_from_the_payment_page_marks_nothing_paid(client: Client, order: Order) -> None:
    # Given a buyer who returns from the payment page before the provider's event has arrived
    client.post(order.pay_path)
    text = text_of(client, f"{order.get_absolute_url()}?payment=returned")
    assert "We are waiting for your payment to be confirmed." in text
    assert "hx-trigger" in text
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT
    # When the event arrives, then the page shows it at its next update
    send_webhook(message(Payment.objects.get()))
    text = text_of(client, order.get_absolute_url(), hx_request="true")
    assert "We have received your payment." in text
    assert "hx-trigger" not in text


def test_after_a_declined_payment_the_page_offers_another(client: Client, order: Order) -> None:
    client.post(order.pay_path)
    send_webhook(message(Payment.objects.get(), "declined"))
    text = text_of(client, order.get_absolute_url())
    assert "The payment did not go through" in text
    assert "Try paying again" in text
    # orders.js announces changes of this attribute to screen readers.
    assert 'data-status="awaiting payment, the payment did not go through"' in text
    client.post(order.pay_path)
    assert sorted(Payment.objects.values_list("status", flat=True)) == ["failed", "pending"]


def test_while_a_late_payment_waits_for_the_store_the_page_says_so(
    client: Client, order: Order, settings: LazySettings
) -> None:
    client.post(order.pay_path)
    Order.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    tasks.expire_overdue()
    store_away(settings)
    send_webhook(message(Payment.objects.get()))
    assert "Your payment arrived after the payment deadline." in text_of(client, order.get_absolute_url())


def test_cancelling_asks_once_and_puts_the_units_back_on_sale(client: Client, item: SaleItem, order: Order) -> None:
    path = f"{order.get_absolute_url()}cancel/"
    assert "Cancel this order?" in text_of(client, path)
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT
    assert "This order was cancelled" in client.post(path, follow=True).content.decode()
    assert counters_of(item).left == 5
    # It leads nowhere any more.
    assert client.get(path)["Location"] == order.get_absolute_url()
    answer = client.post(path, follow=True)
    assert messages_on(answer) == ["The order could not be cancelled: it is no longer awaiting payment."]


def test_older_orders_are_on_further_pages_and_queries_do_not_grow(
    as_buyer: Client, item: SaleItem, buyer: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_orders(21, buyer=buyer, item=item)
    # The user, the count for the pages, the orders, their lines with the products, the pictures, the categories.
    with django_assert_num_queries(6):
        text_of(as_buyer, "/orders/")
    assert "Page 1 of 2" in text_of(as_buyer, "/orders/")
    assert text_of(as_buyer, "/orders/?page=2").count("data-order=") == 1
    assert text_of(as_buyer, "/orders/?page=nonsense").count("data-order=") == 20


def test_a_reservation_is_followed_to_its_order(
    client: Client, item: SaleItem, buyer: User, stranger: User, settings: LazySettings
) -> None:
    # Given a reservation whose order is not created yet
    reservation_id = reserve(item, buyer)
    path = f"/reservations/{reservation_id}/"
    client.force_login(stranger)
    assert client.get(path).status_code == 404
    client.force_login(buyer)
    assert client.get(f"/reservations/{uuid4()}/").status_code == 404
    text = text_of(client, path)
    assert "We are creating your order." in text
    assert 'http-equiv="refresh"' in text
    # While the store is down, the page asks for a moment
    healthy = store_away(settings)
    text = text_of(client, path)
    assert "One moment" in text
    assert 'http-equiv="refresh"' in text
    settings.CACHES = healthy
    # When it is created, then the page leads to it
    tasks.drain_outbox(item_id=item.pk)
    assert client.get(path)["Location"] == Order.objects.get().get_absolute_url()


@pytest.mark.parametrize("is_drawn", [True, False])
def test_unpaid_units_are_not_said_to_be_back_on_sale(
    client: Client, order: Order, is_drawn: bool, settings: Settings
) -> None:
    if is_drawn:
        Sale.objects.update(admission=Sale.Admission.DRAW)
    # The texts of an order are true of every sale, also of one that is over. Before the order ends:
    address = order.get_absolute_url()
    texts = [text_of(client, address), text_of(client, f"{address}cancel/")]
    settings.PAYMENT_PROVIDERS = []
    texts.append(text_of(client, address))
    for text in texts:
        assert "no longer held for you" in text
        assert "back on sale" not in text
    # Afterwards:
    queued = Mail.objects.create(order=order, kind=Mail.Kind.EXPIRED)
    for status in (OrderStatus.EXPIRED, OrderStatus.CANCELLED):
        end(order, status)
        mail = message_of(Mail.objects.get(pk=queued.pk))
        assert mail is not None
        page = text_of(client, address)
        assert "Nothing was charged." in page
        for text in (page, str(mail.body)):
            assert "units are no longer held for you." in text, status
            assert ("See whether units are left" in text) == (not is_drawn and text is page), status
