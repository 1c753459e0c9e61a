"""The status of a reservation and the buyer's orders: for the owner only."""

from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from orders.life import intake
from orders.models import Order
from seckill import ledger
from seckill.ledger_words import ReleaseReason
from seckill.models import SaleItem
from seckill.passes import passes
from shop.models import Product
from tests.steps.buying import make_orders, reserve, signed_in
from tests.steps.shop import make_item
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_reservation_is_found_before_and_after_its_order_is_written(product: Product, buyer: User) -> None:
    item = make_item(product, per_buyer_max=2)
    reservation_id = reserve(item, buyer, units=2)
    url, client = f"/api/v1/reservations/{reservation_id}/", signed_in(buyer)
    before = client.get(url).json()
    assert (before["status"], before["order"]) == ("reserved", None)
    intake.drain_once(item_id=item.pk)
    with CaptureQueriesContext(connection) as queries:
        after = client.get(url).json()
    assert len([query for query in queries if "orders_" in query["sql"]]) == 1
    assert (after["status"], after["units"]) == ("awaiting_payment", 2)
    assert after["order"] == str(Order.objects.get().number)
    assert after["expires_at"] == before["expires_at"]


def test_an_id_may_be_written_in_capital_letters(order: Order, buyer: User) -> None:
    for name, number in (("orders", order.number), ("reservations", order.reservation_id)):
        assert signed_in(buyer).get(f"/api/v1/{name}/{str(number).upper()}/").status_code == 200, name


def test_a_hold_that_ended_without_an_order_was_rejected(item: SaleItem, buyer: User) -> None:
    reservation_id = reserve(item, buyer)
    ledger.release(item_id=item.pk, reservation_ids=[reservation_id], reason=ReleaseReason.REJECTED)
    body = signed_in(buyer).get(f"/api/v1/reservations/{reservation_id}/").json()
    assert (body["status"], body["poll_after_ms"]) == ("rejected", None)


def test_a_reservation_that_is_no_order_yet_is_shown_to_its_buyer_only(
    item: SaleItem, buyer: User, rival: User
) -> None:
    url = f"/api/v1/reservations/{reserve(item, buyer)}/"
    assert signed_in(rival).get(url).status_code == 404
    anonymous = APIClient().get(url)
    assert (anonymous.status_code, anonymous["Content-Type"]) == (401, "application/problem+json")
    for unknown in (uuid4(), UUID(int=0), UUID(int=2**128 - 1)):
        assert signed_in(buyer).get(f"/api/v1/reservations/{unknown}/").status_code == 404


def test_with_the_store_unreachable_an_order_is_still_found(
    item: SaleItem, buyer: User, settings: LazySettings
) -> None:
    written, unwritten = reserve(item, buyer), passes.new_reservation_id(item.pk)
    intake.drain_once(item_id=item.pk)
    store_away(settings)
    assert signed_in(buyer).get(f"/api/v1/reservations/{written}/").status_code == 200
    answer = signed_in(buyer).get(f"/api/v1/reservations/{unwritten}/")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


def test_orders_are_listed_for_their_buyer_in_pages(item: SaleItem, buyer: User, rival: User) -> None:
    make_orders(25, buyer=buyer, item=item)
    make_orders(1, buyer=rival, item=item)
    client = signed_in(buyer)
    with CaptureQueriesContext(connection) as queries:
        first = client.get("/api/v1/orders/").json()
    assert len(queries) <= 3
    assert [order["amount"] for order in first["results"]] == ["19.00"] * 20
    second = client.get(first["next"]).json()
    assert len(second["results"]) == 5
    assert second["next"] is None
    numbers = {order["number"] for page in (first, second) for order in page["results"]}
    assert numbers == {str(number) for number in Order.objects.filter(buyer=buyer).values_list("number", flat=True)}


def test_times_are_in_utc_whatever_zone_the_shop_is_in(item: SaleItem, buyer: User, settings: LazySettings) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    reserve(item, buyer)
    intake.drain_once(item_id=item.pk)
    order = signed_in(buyer).get(f"/api/v1/orders/{Order.objects.get().number}/").json()
    assert [order[name][-1] for name in ("created_at", "expires_at")] == ["Z", "Z"]
    sale = APIClient().get(f"/api/v1/sales/{item.sale_id}/").json()
    assert [sale[name][-1] for name in ("opens_at", "closes_at")] == ["Z", "Z"]
