"""A program that knows only the OpenAPI file buys: in a flash sale, and ordinary goods with an account and without."""

import time
from collections.abc import Callable
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from orders.models import Payment
from seckill.models import SaleItem
from tests.shop.http.schema_client import SchemaClient
from tests.steps.buying import ADDRESS
from tests.steps.paying import message, send_webhook

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 20


@pytest.fixture
def client_of_the_schema(live_shop: str, buyer_with_password: User) -> SchemaClient:
    """Signed in."""
    client = SchemaClient(live_shop)
    credentials = {"username": buyer_with_password.username, "password": "a-good-password"}
    client.signed_in["bearer"] = client.call("get_token", credentials)["token"]
    return client


def waited(ask: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    ends_s = time.monotonic() + PATIENCE_SECONDS
    while not good(answer := ask()):
        assert time.monotonic() < ends_s, answer
        time.sleep(answer.get("poll_after_ms", 100) / 1000)
    return answer


def pay(client: SchemaClient, number: str) -> None:
    """Open the payment page; then the company reports the payment."""
    payment = client.call("pay_order", {}, number=number, idempotency_key=str(uuid4()))
    assert payment["url"].startswith(client.address)
    send_webhook(message(Payment.objects.get(pk=payment["payment"])))
    assert client.call("get_order", number=number)["status"] == "paid"
    assert client.call("pay_order", {}, number=number, idempotency_key=str(uuid4()))["status"] == "captured"


def test_it_buys_in_a_flash_sale(client_of_the_schema: SchemaClient, item: SaleItem) -> None:
    client = client_of_the_schema
    [sale] = client.call("list_sales", phase="open")
    [offer] = sale["items"]
    assert client.call("get_item_live", item_id=offer["id"])["availability"] == "available"
    given = client.call("get_pass", item_id=offer["id"])
    client.signed_in["pass"] = f"Pass {given['pass']}"
    reservation = client.call("reserve", {"units": 1}, item_id=offer["id"])
    assert (reservation["amount"], reservation["currency"]) == (offer["price"], offer["currency"])
    status = waited(
        lambda: client.call("get_reservation", reservation_id=reservation["id"]), lambda status: status["order"]
    )
    order = client.call("set_shipping_address", ADDRESS, number=status["order"])
    assert [(line["sku"], line["options"]) for line in order["lines"]] == [(offer["sku"], offer["options"])]
    pay(client, order["number"])
    [listed] = client.call("list_orders", page_size=1)["results"]
    assert (listed["number"], listed["status"]) == (order["number"], "paid")
    client.call("revoke_token")
    with pytest.raises(AssertionError, match="authentication_failed"):
        client.call("get_me")


def test_a_guest_buys_ordinary_goods(live_shop: str, item: SaleItem) -> None:
    order = ordered(SchemaClient(live_shop), email="guest@example.com")
    with urlopen(order["url"]) as page:
        assert page.status == 200


def ordered(client: SchemaClient, **more: str) -> Any:
    """An order of two units of the first product."""
    product = client.call("get_product", slug=client.call("list_products", page_size=1)[0]["slug"])
    variant = product["variants"][0]
    cart = client.call("change_cart", {"lines": [{"sku": variant["sku"], "units": 2}]})
    whose = {"cart_token": cart["token"]} if cart["token"] else {}
    assert client.call("get_cart", **whose) == cart
    method = client.call("list_shipping_methods", country=ADDRESS["country"], **whose)[0]
    wanted = {"shipping_address": ADDRESS, "shipping_method": method["code"], **more}
    order = client.call("check_out", wanted, idempotency_key=str(uuid4()), **whose)
    assert [(line["sku"], line["options"], line["units"]) for line in order["lines"]] == [
        (variant["sku"], variant["options"], 2)
    ]
    return order
