"""Staff read orders, record payments and cancel; nobody edits or deletes an order by hand."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from orders.admin import LABELS
from orders.models import Order, OrderLine, OrderStatus
from seckill import ledger
from seckill.models import SaleItem
from tests.seckill.filled_form import said

ORDERS = "/admin/orders/order/"


@pytest.fixture(autouse=True)
def _signed_in(client: Client, shop_manager: User) -> None:
    client.force_login(shop_manager)


@pytest.fixture
def order(buyer: User, item: SaleItem) -> Order:
    """A unit of the sale, held for the buyer, who has not paid yet."""
    reservation_id, now = uuid4(), timezone.now()
    ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=1)
    order = Order.objects.create(
        reservation_id=reservation_id,
        buyer=buyer,
        amount_minor=1900,
        currency="CNY",
        reserved_at=now,
        expires_at=now + timedelta(minutes=15),
    )
    OrderLine.objects.create(order=order, product=item.product, sale_item=item, units=1, unit_price_minor=1900)
    SaleItem.objects.update(taken=1)
    return order


def chosen(action: str, *orders: Order, **more: str) -> dict[str, Any]:
    return {"action": action, "_selected_action": [order.pk for order in orders], **more}


def status_of(order: Order) -> str:
    return Order.objects.values_list("status", flat=True).get(pk=order.pk)


def counters_of(item: SaleItem) -> tuple[int | None, int, int]:
    counters = ledger.read(item_id=item.pk)
    assert counters is not None
    return counters.left, counters.held, counters.sold


def test_the_list_shows_who_bought_what_for_how_much(client: Client, order: Order) -> None:
    page = client.get(ORDERS).content.decode()
    for text in (str(order.number), "buyer", "19.00 CNY", "1 × Longjing tea", "awaiting payment"):
        assert text in page


def test_the_page_of_an_order_shows_its_lines_and_links_its_sale(client: Client, order: Order, item: SaleItem) -> None:
    page = client.get(f"{ORDERS}{order.pk}/change/").content.decode()
    assert "Longjing tea" in page
    assert ">awaiting payment<" in page
    assert reverse("admin:seckill_sale_change", args=[item.sale_id]) in page


def test_an_order_is_found_by_its_number_its_buyer_and_its_status(client: Client, order: Order) -> None:
    for query, count in (
        ({"q": str(order.number)}, 1),
        ({"q": str(order.number)[:8]}, 1),
        ({"q": "buyer"}, 1),
        ({"q": "rival"}, 0),
        ({"status__exact": "awaiting_payment"}, 1),
        ({"status__exact": "paid"}, 0),
    ):
        assert client.get(ORDERS, query).context["cl"].result_count == count, query


def test_a_recorded_payment_pays_the_order_and_sells_the_unit(client: Client, order: Order, item: SaleItem) -> None:
    response = client.post(ORDERS, chosen("record_payment", order), follow=True)
    assert said(response) == ["1 order is paid now."]
    assert status_of(order) == OrderStatus.PAID
    assert counters_of(item) == (4, 0, 1)


def test_a_payment_that_comes_too_late_is_not_recorded(client: Client, order: Order) -> None:
    Order.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    response = client.post(ORDERS, chosen("record_payment", order), follow=True)
    assert said(response) == ["1 order could not be paid: it was not awaiting payment, or its time was over."]
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT


def test_cancelling_asks_first(client: Client, order: Order) -> None:
    response = client.post(ORDERS, chosen("cancel_orders", order))
    assert "Cancel 1 order?" in response.content.decode()
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT


def test_a_cancelled_order_puts_its_units_back_on_sale(client: Client, order: Order, item: SaleItem) -> None:
    response = client.post(ORDERS, chosen("cancel_orders", order, confirmed="yes"), follow=True)
    assert said(response) == ["1 order is cancelled."]
    assert status_of(order) == OrderStatus.CANCELLED
    assert counters_of(item) == (5, 0, 0)
    assert SaleItem.objects.get().taken == 0


def test_a_paid_order_is_not_cancelled(client: Client, order: Order) -> None:
    client.post(ORDERS, chosen("record_payment", order), follow=True)
    response = client.post(ORDERS, chosen("cancel_orders", order, confirmed="yes"), follow=True)
    assert said(response) == ["1 order was not cancelled: it was not awaiting payment."]
    assert status_of(order) == OrderStatus.PAID


def test_with_the_store_down_a_payment_is_recorded_and_the_pages_open(
    client: Client, order: Order, settings: Settings
) -> None:
    down = settings.CACHES["seckill"] | {"LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = settings.CACHES | {"seckill": down}
    response = client.post(ORDERS, chosen("record_payment", order), follow=True)
    assert said(response) == ["1 order is paid now."]
    assert client.get(f"{ORDERS}{order.pk}/change/").status_code == 200


def test_who_may_only_look_moves_no_order(client: Client, order: Order) -> None:
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.set(Permission.objects.filter(codename="view_order"))
    client.force_login(viewer)
    assert client.get(ORDERS).status_code == 200
    client.post(ORDERS, chosen("record_payment", order))
    client.post(ORDERS, chosen("cancel_orders", order, confirmed="yes"))
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT


def test_nobody_adds_edits_or_deletes_an_order(client: Client, order: Order) -> None:
    assert client.get(f"{ORDERS}add/").status_code == 403
    assert client.post(f"{ORDERS}{order.pk}/change/", {"status": "paid"}).status_code == 403
    assert client.post(f"{ORDERS}{order.pk}/delete/", {"post": "yes"}).status_code == 403
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT


def test_a_product_with_orders_cannot_be_deleted(client: Client, order: Order, item: SaleItem) -> None:
    url = reverse("admin:shop_product_delete", args=[item.product_id])
    response = client.post(url, {"post": "yes"}, follow=True)
    assert said(response) == ["“Longjing tea” has orders, so it cannot be deleted. Hide it from the shop instead."]


def test_each_status_has_a_label_in_the_reader_s_language() -> None:
    assert set(LABELS) == set(OrderStatus)
