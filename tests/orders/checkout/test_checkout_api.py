"""`POST /api/v1/checkout/`: guests and buyers, what is refused, and repeated calls."""

import threading
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import F
from rest_framework.test import APIClient

from orders import idempotent_calls, tasks
from orders.idempotent_calls import CallState, KeyedCall
from orders.models import IdempotentCall, Order, ShippingMethod, ShippingPrice
from shop.models import Variant
from tests.steps.at_once import at_once, run_and_close
from tests.steps.buying import ADDRESS, GUEST, assert_stock_agrees, check_out, put, signed_in
from tests.steps.paying import press_cancel, press_pay
from tests.steps.shop import goods, units_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_buyer_orders_and_finds_the_order(buyer: User) -> None:
    tea, client = goods("tea", price_minor=1000), signed_in(buyer)
    put(client, tea=2)
    assert check_out(client, vat_number="1" * 21).json()["errors"][0]["field"] == "vat_number"
    answer = check_out(client, billing_address="Tea Ltd\nHafenstr. 1", vat_number="DE123456789")
    assert answer.status_code == 201
    order = Order.objects.get()
    assert (order.billing_address, order.vat_number) == ("Tea Ltd\nHafenstr. 1", "DE123456789")
    body = answer.json()
    assert answer["Location"] == f"/api/v1/orders/{body['number']}/"
    assert client.get(answer["Location"]).json() == body
    assert (body["status"], body["amount"], body["code"]) == ("awaiting_payment", "20.00", order.code)
    assert body["shipping"] == {"name": "Free delivery", "amount": "0.00"}
    assert body["shipping_address"] == ADDRESS | {"line2": "", "district": "", "region": ""}
    assert client.get("/api/v1/cart/").json()["lines"] == []
    assert press_pay(client, body["number"]).status_code == 201
    assert press_cancel(client, body["number"]).json()["status"] == "cancelled"
    assert units_in(tea) == (10, 0, 0)


def test_a_guest_orders_with_an_address_and_gets_the_signed_link(api: APIClient, stranger: User) -> None:
    goods("tea")
    token = put(api, tea=1)["Cart-Token"]
    answer = check_out(api, token)
    assert answer.status_code == 201
    # The link is a key, and servers and proxies write headers to their logs.
    assert not any("/orders/guest/" in value for value in answer.headers.values())
    assert "/orders/guest/" in answer.json()["url"]
    assert api.get(answer.json()["url"]).status_code == 200
    assert Order.objects.get().email == GUEST
    # The API itself has no orders for guests, and shows theirs to no account.
    path = f"/api/v1/orders/{answer.json()['number']}/"
    assert [caller.get(path).status_code for caller in (api, signed_in(stranger))] == [401, 404]


def test_refusals_are_problems_with_the_lines_that_changed(buyer: User) -> None:
    client, tea = signed_in(buyer), goods("tea", units=1, price_minor=1000)
    empty = check_out(client)
    assert (empty.status_code, empty.json()["code"]) == (409, "cart_empty")
    put(client, tea=2)
    stock = check_out(client)
    assert (stock.status_code, stock["Content-Type"]) == (409, "application/problem+json")
    assert stock.json()["code"] == "stock_changed"
    assert [(line["sku"], line["left"]) for line in stock.json()["lines"]] == [("SKU-tea", 1)]
    put(client, tea=1)
    Variant.objects.update(price_minor=1100)
    price = check_out(client)
    assert price.json()["code"] == "price_changed"
    assert [(line["old_unit_price"], line["unit_price"]) for line in price.json()["lines"]] == [("10.00", "11.00")]
    assert check_out(client).json()["code"] == "price_changed"
    # A buyer who has looked at the cart has seen the price. A refusal is not kept: the key is free.
    client.get("/api/v1/cart/")
    assert check_out(client, shipping_method="rocket").json()["code"] == "shipping_not_offered"
    assert check_out(client).status_code == 201
    assert units_in(tea) == (0, 1, 0)


def test_a_price_that_another_tab_has_seen_is_not_a_price_that_this_call_has_seen(buyer: User) -> None:
    client, tea = signed_in(buyer), goods("tea", price_minor=1000)
    method = ShippingMethod.objects.create(code="post", name="Post")
    price = ShippingPrice.objects.create(method=method, price_minor=800)
    put(client, tea=2)
    wanted = {"shipping_method": "post", "expected_total": "28.00"}
    Variant.objects.update(price_minor=1100)
    # Another tab shows the new price.
    client.get("/api/v1/cart/")
    refused = check_out(client, **wanted)
    assert (refused.status_code, refused.json()["code"], refused.json()["lines"]) == (409, "price_changed", [])
    Variant.objects.update(price_minor=1000)
    client.get("/api/v1/cart/")
    ShippingPrice.objects.filter(pk=price.pk).update(price_minor=900)
    assert check_out(client, **wanted).json()["code"] == "price_changed"
    assert units_in(tea) == (10, 0, 0)
    assert check_out(client, **wanted | {"expected_total": "29.00"}).json()["amount"] == "29.00"


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"email": None}, "email"),
    ({"email": "nobody"}, "email"),
    ({"shipping_method": 7.5, "note": {}}, "note"),
    ({"note": "x" * 501}, "note"),
    ({"note": "a\0b"}, "note"),
    ({"expected_total": 20}, "expected_total"),
    ({"expected_total": "-1"}, "expected_total"),
    ({"shipping_address": "here"}, "shipping_address.non_field_errors"),
    ({"shipping_address": 5}, "shipping_address.non_field_errors"),
    ({"shipping_address": [ADDRESS]}, "shipping_address.non_field_errors"),
    ({"shipping_address": {**ADDRESS, "country": "XX"}}, "shipping_address.country"),
    ({"shipping_address": {**ADDRESS, "country": "DE", "postcode": ""}}, "shipping_address.postcode"),
    ({"shipping_address": {**ADDRESS, "phone": ""}}, "shipping_address.phone"),
    ({"shipping_address": {**ADDRESS, "city": ""}}, "shipping_address.city"),
    ({"shipping_address": {**ADDRESS, "country": "US", "postcode": "94103"}}, "shipping_address.region"),
    ({"shipping_address": {**ADDRESS, "postcode": "<script>"}}, "shipping_address.postcode"),
    ({"shipping_address": {**ADDRESS, "phone": "call me"}}, "shipping_address.phone"),
    ({"shipping_address": {**ADDRESS, "name": "x" * 101}}, "shipping_address.name"),
    ({"shipping_address": {**ADDRESS, "vip": True}}, "shipping_address.vip"),
    ({"amount": "0.01"}, "amount"),
]


def test_hostile_input_is_refused_field_by_field(api: APIClient, settings: LazySettings) -> None:
    settings.CHECKOUT_LIMIT_BY_ADDRESS = "1000/minute"
    goods("tea")
    token = put(api, tea=1)["Cart-Token"]
    for changes, field in HOSTILE:
        answer = check_out(api, token, **changes)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), changes
        assert field in [error["field"] for error in answer.json()["errors"]]
    assert not Order.objects.exists()


def test_a_call_without_a_sound_key_is_refused(buyer: User) -> None:
    goods("tea")
    put(signed_in(buyer), tea=1)
    for key in (None, "", "   ", "x" * 256, "a\tb"):
        answer = check_out(signed_in(buyer), key=key)
        assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_key_missing"), key


def test_a_repeated_call_gets_the_first_answer_and_another_payload_is_refused(buyer: User, rival: User) -> None:
    client, tea = signed_in(buyer), goods("tea")
    put(client, tea=1)
    first, second = check_out(client), check_out(client)
    assert (first.status_code, second.status_code) == (201, 201)
    assert (second.json(), second["Location"]) == (first.json(), first["Location"])
    assert (first.headers.get("Idempotent-Replayed"), second["Idempotent-Replayed"]) == (None, "true")
    # The first answer, also where the order has moved on.
    press_cancel(client, first.json()["number"])
    assert check_out(client).json()["status"] == "awaiting_payment"
    other = check_out(client, note="Another wish")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    # Keys of two buyers are two things.
    put(signed_in(rival), tea=1)
    assert check_out(signed_in(rival)).json()["number"] != first.json()["number"]
    assert Order.objects.count() == 2
    assert_stock_agrees(tea)


def test_while_the_first_call_runs_the_second_is_told_so(buyer: User) -> None:
    client = signed_in(buyer)
    goods("tea")
    put(client, tea=1)
    key_taken, asked = threading.Event(), threading.Event()

    def hold_the_key() -> None:
        with transaction.atomic():
            idempotent_calls.lock(KeyedCall(owner=f"buyer:{buyer.pk}", key="key"), wait=True)
            key_taken.set()
            asked.wait(timeout=30)

    holder = threading.Thread(target=run_and_close(hold_the_key))
    holder.start()
    assert key_taken.wait(timeout=30)
    answer = check_out(client)
    asked.set()
    holder.join(timeout=30)
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (409, "idempotency_key_running", "1")
    assert check_out(client).status_code == 201


def test_two_keys_at_once_make_one_order_too(buyer: User) -> None:
    """Two tabs: the cart is bought once."""
    goods("tea", units=50)
    put(signed_in(buyer), tea=1)
    answers = at_once([partial(check_out, signed_in(buyer), key=str(number)) for number in range(4)])
    refused = [answer.json()["code"] for answer in answers if answer.status_code != 201]
    assert refused == ["cart_empty"] * 3
    assert Order.objects.count() == 1


def test_paying_and_cancelling_keep_to_the_same_rules(buyer: User) -> None:
    client = signed_in(buyer)
    goods("tea")
    put(client, tea=1)
    number = check_out(client).json()["number"]
    for press in (press_pay, press_cancel):
        assert press(client, number, None).json()["code"] == "idempotency_key_missing"
    assert press_pay(client, number, "a").status_code == 201
    again = press_pay(client, number, "a")
    assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
    assert press_pay(client, number, "a", provider="simulated").json()["code"] == "idempotency_key_reused"
    # As if the first call were still running, and then as if its process had died.
    IdempotentCall.objects.filter(key="a").update(status=None, answer=None)
    assert press_pay(client, number, "a").json()["code"] == "idempotency_key_running"
    IdempotentCall.objects.filter(key="a").update(created_at=F("created_at") - idempotent_calls.RUNNING_MAX)
    assert press_pay(client, number, "a").status_code == 200
    first = press_cancel(client, number, "a")
    second = press_cancel(client, number, "a")
    assert (first.json(), second["Idempotent-Replayed"]) == (second.json(), "true")
    # A refusal is not kept.
    assert press_pay(client, number, "b").json()["code"] == "not_awaiting_payment"
    assert not IdempotentCall.objects.filter(key="b").exists()


def test_old_keys_are_forgotten(buyer: User) -> None:
    goods("tea")
    put(signed_in(buyer), tea=1)
    check_out(signed_in(buyer))
    IdempotentCall.objects.update(created_at=F("created_at") - idempotent_calls.KEPT - timedelta(seconds=1))
    assert tasks.clear_old_rows() == 1
    assert not IdempotentCall.objects.exists()


def test_checkouts_are_limited_by_account_and_by_address(
    buyer: User, rival: User, settings: LazySettings, api: APIClient
) -> None:
    settings.CHECKOUT_LIMIT, settings.CHECKOUT_LIMIT_BY_ADDRESS = "1/minute", "3/minute"
    goods("tea")
    answers = [check_out(signed_in(buyer), key="a"), check_out(signed_in(buyer), key="b"), check_out(signed_in(rival))]
    assert [answer.json()["code"] for answer in answers] == ["cart_empty", "too_many_attempts", "cart_empty"]
    assert int(answers[1]["Retry-After"]) > 0
    token = put(api, tea=1)["Cart-Token"]
    assert check_out(api, token).status_code == 429


def test_nothing_of_a_refused_call_is_kept() -> None:
    def refuse() -> tuple[int, Any]:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE half_done (n int) ON COMMIT DROP")
        raise idempotent_calls.Refused("no")

    result = idempotent_calls.run_once(KeyedCall(owner="o", key="k"), refuse)
    assert (result.state, result.refusal) == (CallState.NEW, "no")
    assert not IdempotentCall.objects.exists()
