"""`/api/v1/cart/`: a cart for a buyer and for a guest, what changed since, and whose it is."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from orders import tasks
from orders.cart.cart_holder import KEPT, merge_guest_cart
from orders.cart.cart_lines import LINES_MAX, UNITS_MAX
from orders.models import Cart, CartLine
from shop.models import Product, StockChange, Variant
from shop.stock.movements import move
from tests.steps.buying import check_out, put, signed_in
from tests.steps.shop import goods, units_in

pytestmark = pytest.mark.django_db


def test_a_guest_gets_a_token_with_the_first_answer_and_finds_the_cart_by_it(api: APIClient) -> None:
    tea = goods("tea", price_minor=1250)
    empty = api.get("/api/v1/cart/").json()
    assert (empty["token"], empty["lines"], empty["total"]) == (None, [], "0.00")
    assert not Cart.objects.exists()
    answer = put(api, tea=2)
    assert answer.status_code == 200
    token = answer["Cart-Token"]
    assert answer.json() == {
        "token": token,
        "lines": [
            {
                "sku": "SKU-tea",
                "product": "tea",
                "name": "Tea",
                "options": [],
                "units": 2,
                "unit_price": "12.50",
                "amount": "25.00",
                "changes": [],
                "old_unit_price": None,
                "left": None,
            }
        ],
        "units": 2,
        "total": "25.00",
        "currency": "CNY",
    }
    again = api.get("/api/v1/cart/", headers={"Cart-Token": token})
    assert again.json() == answer.json()
    assert again["Cache-Control"] == "no-store"
    # A cart asks nothing of the stock.
    assert units_in(tea) == (10, 0, 0)


def test_the_lines_are_replaced_and_two_of_one_product_are_added_up(api: APIClient) -> None:
    goods("tea"), goods("cup")
    token = put(api, tea=UNITS_MAX)["Cart-Token"]
    lines = [{"sku": "SKU-cup", "units": 2}, {"sku": "SKU-cup", "units": 3}]
    answer = api.put("/api/v1/cart/", {"lines": lines}, format="json", headers={"Cart-Token": token}).json()
    assert [(line["sku"], line["units"]) for line in answer["lines"]] == [("SKU-cup", 5)]
    assert put(api, token).json()["lines"] == []


def test_a_change_in_the_cart_is_told_once(buyer: User) -> None:
    client = signed_in(buyer)
    tea, cup = goods("tea", units=5), goods("cup")
    put(client, tea=4, cup=1)
    Variant.objects.filter(pk=tea.pk).update(price_minor=1100)
    move(kind=StockChange.Kind.CHANGED, units_of={tea.pk: -2})
    Variant.objects.filter(pk=cup.pk).update(is_active=False)
    first, second = client.get("/api/v1/cart/").json(), client.get("/api/v1/cart/").json()
    tea_line, cup_line = first["lines"]
    assert tea_line["changes"] == ["too_few_left", "price_changed"]
    assert (tea_line["old_unit_price"], tea_line["unit_price"], tea_line["left"]) == ("10.00", "11.00", 3)
    assert cup_line["changes"] == ["no_longer_sold"]
    # What is no longer sold does not count.
    assert (first["total"], first["units"]) == ("44.00", 4)
    assert second["lines"][0]["changes"] == ["too_few_left"]
    # A client may send back what it got, and may not add what is not sold.
    assert put(client, tea=3, cup=1).status_code == 200
    put(client, tea=3)
    refused = put(client, tea=3, cup=1)
    error = {"field": "lines.1.sku", "code": "not_sold", "detail": "The shop does not sell this."}
    assert (refused.status_code, refused.json()["errors"]) == (400, [error])
    Product.objects.filter(slug="tea").update(is_active=False)
    assert client.get("/api/v1/cart/").json()["lines"][0]["changes"] == ["no_longer_sold"]


HOSTILE: list[object] = [
    [{"sku": "SKU-tea", "units": 0}],
    [{"sku": "SKU-tea", "units": -1}],
    [{"sku": "SKU-tea", "units": UNITS_MAX + 1}],
    [{"sku": "SKU-tea", "units": 10**30}],
    [{"sku": "SKU-tea", "units": "2"}],
    [{"sku": "SKU-tea", "units": 1.5}],
    [{"sku": "SKU-tea", "units": True}],
    [{"sku": "SKU-te\0a", "units": 1}],
    [{"sku": "' OR 1=1 --", "units": 1}],
    [{"sku": "x" * 1000, "units": 1}],
    [{"sku": "SKU-tea", "units": 1, "price": "0.01"}],
    [{"sku": {"a": 1}, "units": 1}],
    [{"sku": "SKU-tea", "units": 1}] * (LINES_MAX + 1),
    ["SKU-tea"],
    [5],
    {"sku": "SKU-tea"},
    None,
]


def test_hostile_lines_are_refused_and_change_nothing(api: APIClient) -> None:
    goods("tea")
    for lines in HOSTILE:
        answer = api.put("/api/v1/cart/", {"lines": lines}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), lines
    assert not Cart.objects.exists()


def test_a_guest_cannot_choose_a_token_and_a_foreign_one_opens_nothing(
    api: APIClient, buyer: User, stranger: User
) -> None:
    goods("tea")
    mine = str(uuid4())
    assert put(api, mine, tea=1)["Cart-Token"] != mine
    for token in (mine, "", "x" * 500, "../../", "None"):
        assert api.get("/api/v1/cart/", headers={"Cart-Token": token}).json()["lines"] == []
    # Nor does the token of a buyer's cart.
    put(signed_in(buyer), tea=3)
    token = str(Cart.objects.get(buyer=buyer).token)
    for client in (api, signed_in(stranger)):
        assert client.get("/api/v1/cart/", headers={"Cart-Token": token}).json()["lines"] == []
    put(api, token, tea=9)
    assert CartLine.objects.get(cart__buyer=buyer).units == 3


def test_the_guests_cart_is_merged_once_with_the_larger_number(api: APIClient, buyer: User) -> None:
    goods("tea"), goods("cup"), goods("pot")
    token = put(api, tea=2, cup=5)["Cart-Token"]
    client = signed_in(buyer)
    put(client, tea=3, pot=1)
    for is_first in (True, False):
        assert merge_guest_cart(buyer_id=buyer.pk, token=UUID(token)) is is_first
        answer = client.get("/api/v1/cart/", headers={"Cart-Token": token}).json()
        assert answer["token"] is None
        assert {line["sku"]: line["units"] for line in answer["lines"]} == {"SKU-tea": 3, "SKU-pot": 1, "SKU-cup": 5}
    assert Cart.objects.count() == 1
    assert api.get("/api/v1/cart/", headers={"Cart-Token": token}).json()["lines"] == []


def test_reading_with_both_tokens_shows_both_carts_and_changes_neither(api: APIClient, buyer: User) -> None:
    goods("tea"), goods("cup"), goods("pot")
    token = put(api, tea=2, cup=5)["Cart-Token"]
    client = signed_in(buyer)
    put(client, tea=3, pot=1)
    before = carts()
    for path in ("/api/v1/cart/", "/api/v1/shipping-methods/?country=CN", "/api/v1/cart/"):
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(path, headers={"Cart-Token": token})
        assert all(query["sql"].startswith("SELECT") for query in queries)
    both = {"SKU-tea": 3, "SKU-pot": 1, "SKU-cup": 5}
    assert {line["sku"]: line["units"] for line in answer.json()["lines"]} == both
    assert (answer.json()["token"], answer.json()["units"], carts()) == (None, 9, before)
    assert api.get("/api/v1/cart/", headers={"Cart-Token": token}).json()["units"] == 7
    # The checkout orders what was shown.
    order = check_out(client, token).json()
    assert {line["sku"]: line["units"] for line in order["lines"]} == both
    assert api.get("/api/v1/cart/", headers={"Cart-Token": token}).json()["lines"] == []


def carts() -> list[Any]:
    return list(CartLine.objects.order_by("pk").values_list("pk", "cart", "units", "seen_price_minor"))


def test_a_buyer_without_a_cart_gets_the_guests_with_the_next_change(api: APIClient, buyer: User) -> None:
    goods("tea")
    token = put(api, tea=2)["Cart-Token"]
    assert signed_in(buyer).get("/api/v1/cart/", headers={"Cart-Token": token}).json()["units"] == 2
    assert signed_in(buyer).get("/api/v1/me/").json()["cart_units"] == 0
    put(signed_in(buyer), token, tea=2)
    assert signed_in(buyer).get("/api/v1/me/").json()["cart_units"] == 2
    assert Cart.objects.count() == 1


def test_too_many_changes_from_one_address_have_to_wait(api: APIClient, settings: LazySettings) -> None:
    settings.CART_LIMIT = "2/minute"
    goods("tea")
    assert [put(api, tea=1).status_code for _ in range(3)] == [200, 200, 429]


def test_old_carts_of_guests_are_removed_and_those_of_buyers_stay(api: APIClient, buyer: User) -> None:
    goods("tea")
    put(api, tea=1)
    put(signed_in(buyer), tea=1)
    Cart.objects.update(changed_at=timezone.now() - KEPT - timedelta(minutes=1))
    young = put(api, tea=2)["Cart-Token"]
    assert tasks.clear_old_rows() == 1
    assert set(Cart.objects.values_list("buyer", flat=True)) == {None, buyer.pk}
    assert Cart.objects.filter(token=young).exists()
    assert CartLine.objects.filter(units=F("units")).count() == 2
