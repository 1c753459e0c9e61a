"""A program that knows only the OpenAPI file buys: in a flash sale with an account, and ordinary goods without one."""

import time
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


def test_it_buys_in_a_flash_sale(live_shop: str, buyer_with_password: User, item: SaleItem) -> None:
    client = SchemaClient(live_shop)
    credentials = {"username": "buyer", "password": "a-good-password"}
    client.signed_in["bearer"] = client.call("get_token", credentials)["token"]
    [sale] = client.call("list_sales", phase="open")
    [offer] = sale["items"]
    assert client.call("get_item_live", item_id=offer["id"])["availability"] == "available"
    given = client.call("get_pass", item_id=offer["id"])
    client.signed_in["pass"] = f"Pass {given['pass']}"
    reservation = client.call("reserve", {"units": 1}, item_id=offer["id"])
    assert (reservation["amount"], reservation["currency"]) == (offer["price"], offer["currency"])
    number = order_of(client, reservation["id"])
    order = client.call("set_shipping_address", ADDRESS, number=number)
    assert [(line["sku"], line["options"]) for line in order["lines"]] == [(offer["sku"], offer["options"])]
    payment = client.call("pay_order", {}, number=number, idempotency_key=str(uuid4()))
    assert payment["url"].startswith(client.address)
    # The company reports the payment.
    send_webhook(message(Payment.objects.get(pk=payment["payment"])))
    [listed] = client.call("list_orders", page_size=1)["results"]
    assert (listed["number"], listed["status"]) == (number, "paid")
    assert client.call("get_order", number=number) == listed
    assert client.call("pay_order", {}, number=number, idempotency_key=str(uuid4()))["status"] == "captured"
    client.call("revoke_token")
    with pytest.raises(AssertionError, match="authentication_failed"):
        client.call("get_me")


def order_of(client: SchemaClient, reservation_id: str) -> str:
    """The number of the order, as soon as it is written."""
    ends_s = time.monotonic() + PATIENCE_SECONDS
    while not (status := client.call("get_reservation", reservation_id=reservation_id))["order"]:
        assert time.monotonic() < ends_s, status
        time.sleep(status.get("poll_after_ms", 100) / 1000)
    return str(status["order"])


def test_a_guest_buys_ordinary_goods(live_shop: str, item: SaleItem) -> None:
    client = SchemaClient(live_shop)
    product = client.call("get_product", slug=client.call("list_products", page_size=1)[0]["slug"])
    variant = product["variants"][0]
    cart = client.call("change_cart", {"lines": [{"sku": variant["sku"], "units": 2}]})
    token = cart["token"]
    assert client.call("get_cart", cart_token=token) == cart
    method = client.call("list_shipping_methods", country=ADDRESS["country"], cart_token=token)[0]
    wanted = {"shipping_address": ADDRESS, "shipping_method": method["code"], "email": "guest@example.com"}
    order = client.call("check_out", wanted, idempotency_key=str(uuid4()), cart_token=token)
    assert [(line["sku"], line["options"], line["units"]) for line in order["lines"]] == [
        (variant["sku"], variant["options"], 2)
    ]
    with urlopen(order["url"]) as page:
        assert page.status == 200
