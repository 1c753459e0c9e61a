"""The buyer's own pages: my orders, one order, and the way to it without JavaScript."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from orders import tasks
from orders.models import Order, OrderStatus
from seckill import ledger, passes
from seckill.models import SaleItem
from shop.models import Product
from tests.conftest import make_item

pytestmark = pytest.mark.django_db(transaction=True)


def reserve(item: SaleItem, user: User, *, units: int = 1) -> Order:
    reservation_id = passes.new_reservation_id(item.pk)
    ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=user.pk, units=units)
    tasks.drain_outbox(item_id=item.pk)
    return Order.objects.get(reservation_id=reservation_id)


def text_of(client: Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def end(order: Order, status: OrderStatus) -> None:
    Order.objects.filter(pk=order.pk).update(status=status, ended_at=timezone.now())


def test_a_stranger_is_asked_to_sign_in_and_then_led_back(client: Client, buyer: User) -> None:
    answer = client.get("/orders/")
    assert answer["Location"] == "/accounts/login/?next=/orders/"
    answer = client.post(answer["Location"], {"login": "buyer", "password": "buyer-password"})
    assert answer["Location"] == "/orders/"


def test_without_orders_the_page_says_where_to_get_some(client: Client, buyer: User) -> None:
    client.force_login(buyer)
    assert "You have no orders yet." in text_of(client, "/orders/")
    assert "您还没有订单。" in text_of(client, "/orders/", accept_language="zh-CN")


def test_an_order_is_listed_with_units_amount_status_and_deadline(
    client: Client, product: Product, buyer: User
) -> None:
    order = reserve(make_item(product, per_buyer_max=3), buyer, units=2)
    client.force_login(buyer)
    text = text_of(client, "/orders/", accept_language="zh-CN")
    for words in ("龙井茶", "2 × ¥19.00", "¥38.00", "待付款", "保留倒计时"):
        assert words in text
    assert f'data-countdown="{int(order.expires_at.timestamp() * 1000)}"' in text


def test_the_list_asks_again_only_while_something_awaits_payment(client: Client, item: SaleItem, buyer: User) -> None:
    order = reserve(item, buyer)
    client.force_login(buyer)
    for path in ("/orders/", order.get_absolute_url()):
        assert "hx-trigger" in text_of(client, path)
        part = text_of(client, path, hx_request="true")
        assert "<html" not in part
        assert "hx-trigger" in part
    end(order, OrderStatus.PAID)
    for path in ("/orders/", order.get_absolute_url()):
        assert "hx-trigger" not in text_of(client, path, hx_request="true")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (OrderStatus.AWAITING_PAYMENT, "This shop takes no money on the web yet"),
        (OrderStatus.PAID, "The shop has recorded your payment."),
        (OrderStatus.EXPIRED, "The time to pay was over"),
        (OrderStatus.CANCELLED, "This order was cancelled"),
        (OrderStatus.REJECTED, "We are sorry"),
        (OrderStatus.REFUNDED, "given your money back"),
    ],
)
def test_every_status_is_explained(
    client: Client, item: SaleItem, buyer: User, status: OrderStatus, words: str
) -> None:
    order = reserve(item, buyer)
    if status != OrderStatus.AWAITING_PAYMENT:
        end(order, status)
    client.force_login(buyer)
    assert words in text_of(client, order.get_absolute_url())


def test_the_order_of_somebody_else_is_not_there(client: Client, item: SaleItem, buyer: User, stranger: User) -> None:
    order = reserve(item, buyer)
    client.force_login(stranger)
    assert client.get(order.get_absolute_url()).status_code == 404
    assert client.get(f"/reservations/{order.reservation_id}/").status_code == 404
    assert "You have no orders yet." in text_of(client, "/orders/")


def test_the_number_of_queries_does_not_grow_with_the_orders(
    client: Client, product: Product, buyer: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    item = make_item(product, quantity=50, per_buyer_max=50)
    for _ in range(12):
        reserve(item, buyer)
    client.force_login(buyer)
    # The user, the count for the pages, the orders, their lines, the products.
    with django_assert_num_queries(5):
        text_of(client, "/orders/")


def test_older_orders_are_on_further_pages(client: Client, product: Product, buyer: User) -> None:
    item = make_item(product, quantity=50, per_buyer_max=50)
    for _ in range(21):
        reserve(item, buyer)
    client.force_login(buyer)
    assert "Page 1 of 2" in text_of(client, "/orders/")
    assert text_of(client, "/orders/?page=2").count("data-order=") == 1
    assert text_of(client, "/orders/?page=nonsense").count("data-order=") == 20


def test_a_reservation_is_followed_to_its_order(client: Client, item: SaleItem, buyer: User, stranger: User) -> None:
    # Given a yes whose order is not written yet
    reservation_id = passes.new_reservation_id(item.pk)
    ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=1)
    path = f"/reservations/{reservation_id}/"
    client.force_login(stranger)
    assert client.get(path).status_code == 404
    client.force_login(buyer)
    text = text_of(client, path)
    assert "Your order is being written." in text
    assert 'http-equiv="refresh"' in text
    # When it is written, then the page leads to it
    tasks.drain_outbox(item_id=item.pk)
    assert client.get(path)["Location"] == Order.objects.get().get_absolute_url()


def test_a_reservation_that_never_was_is_not_there(client: Client, buyer: User) -> None:
    client.force_login(buyer)
    assert client.get(f"/reservations/{uuid4()}/").status_code == 404


def test_with_the_store_down_the_reservation_page_asks_for_a_moment(
    client: Client, item: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(**_: object) -> None:
        raise ledger.StoreUnreachable

    monkeypatch.setattr(ledger, "find_hold", unreachable)
    client.force_login(buyer)
    text = text_of(client, f"/reservations/{passes.new_reservation_id(item.pk)}/")
    assert "One moment" in text
    assert 'http-equiv="refresh"' in text
