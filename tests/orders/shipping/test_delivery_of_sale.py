"""Orders of a flash sale are sent where the checkout sends, in the same ways and for the same prices."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient

from orders.invoices.included_taxes import taxes_of
from orders.life import lifecycle
from orders.models import Order, Payment, ShippingAddress, ShippingMethod, ShippingPrice
from orders.payments.sessions import create_payment
from shop.models import TaxRate, Variant
from tests.processes import wait_until
from tests.steps.at_once import run_and_close
from tests.steps.buying import ADDRESS, put_address, signed_in
from tests.steps.operating import waiting_for_locks
from tests.steps.paying import press_pay
from tests.steps.staff import messages_on

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("as_buyer", "post")]

ABROAD = ADDRESS | {"country": "DE", "postcode": "10115"}


@pytest.fixture
def post(db: None) -> ShippingMethod:
    """To China alone: 8.00 for a kilogram, 20.00 above."""
    rate = TaxRate.objects.create(name="VAT", percent=Decimal(13))
    method = ShippingMethod.objects.create(code="post", name="Post", countries=["CN"], tax_rate=rate)
    ShippingPrice.objects.create(method=method, up_to=1000, price_minor=800)
    ShippingPrice.objects.create(method=method, price_minor=2000)
    return method


def amounts_of(order: Order) -> tuple[int, int, str]:
    order.refresh_from_db()
    return order.amount_minor, order.shipping_minor, order.shipping_name


def test_the_page_offers_the_ways_of_the_checkout_and_adds_their_price(client: Client, order: Order) -> None:
    # A heavy product costs what the table says.
    Variant.objects.update(weight_grams=1500)
    assert [offer.choice for offer in client.get(order.address_path).context["offers"]] == ["post:2000"]
    Variant.objects.update(weight_grams=500)
    page = client.get(client.post(order.pay_path)["Location"])
    assert [offer.choice for offer in page.context["offers"]] == ["post:800"]
    text = page.content.decode()
    assert "The price includes delivery." not in text
    assert "CN¥8.00" in text
    paid = client.post(order.address_path, ADDRESS | {"shipping": "post:800"})
    assert paid["Location"].startswith("/pay/simulated/")
    assert amounts_of(order) == (1900 + 800, 800, "Post")
    assert Payment.objects.get().amount_minor == 2700
    assert [share.percent_text for share in taxes_of(order)] == ["13"]
    assert "Post" in client.get(order.get_absolute_url()).content.decode()


def test_without_a_way_to_the_country_or_with_an_old_price_nothing_is_stored(
    client: Client, order: Order, buyer: User
) -> None:
    assert 'value="DE"' not in client.get(order.address_path).content.decode()
    answer = put_address(signed_in(buyer), order, **ABROAD, shipping_method="post")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert "The shop does not send there." in str(answer.json()["errors"])
    assert client.post(order.address_path, ABROAD | {"shipping": "post:800"}).status_code == 200
    for shipping, sentence in (
        ("", "choose how we send"),
        ("rocket:0", "choose how we send"),
        ("post:700", "price has changed"),
    ):
        page = client.post(order.address_path, ADDRESS | {"shipping": shipping})
        assert (page.status_code, sentence in page.content.decode()) == (200, True)
    assert not ShippingAddress.objects.exists()
    assert amounts_of(order) == (1900, 0, "")


def test_the_choice_can_be_changed_until_a_payment_page_has_its_amount(client: Client, to_china: Order) -> None:
    order = to_china
    # Another country shows its offers, and stores nothing yet.
    page = client.post(order.address_path, ABROAD | {"refresh": "1"})
    assert [offer.choice for offer in page.context["offers"]] == ["fast:3000"]
    assert 'value="10115"' in page.content.decode()
    assert ShippingAddress.objects.get().country == "CN"
    client.post(order.address_path, ABROAD | {"shipping": "fast:3000"})
    assert amounts_of(order) == (4900, 3000, "Fast")
    client.post(order.address_path, ADDRESS | {"shipping": "post:800"})
    assert amounts_of(order) == (4900, 3000, "Fast")
    assert ShippingAddress.objects.get().country == "DE"
    assert lifecycle.pay(order_id=order.pk)
    client.post(order.address_path, ABROAD | {"city": "Hamburg"})
    assert ShippingAddress.objects.get().city == "Hamburg"


@pytest.mark.parametrize("price_minor", [3000, 800])
def test_a_choice_in_a_second_tab_that_comes_after_the_payment_page_is_not_ignored_silently(
    client: Client, to_china: Order, post: ShippingMethod, price_minor: int
) -> None:
    order = to_china
    ShippingPrice.objects.filter(method__code="fast").update(price_minor=price_minor)
    client.post(order.address_path, ADDRESS | {"shipping": "post:800"})
    answer = client.post(order.address_path, ADDRESS | {"shipping": f"fast:{price_minor}"})
    assert (answer["Location"], messages_on(answer)) == (
        order.get_absolute_url(),
        ["The address is saved. The way of sending stays as it was, because the payment page was already open."],
    )
    assert amounts_of(order) == (2700, 800, "Post")
    assert client.post(order.address_path, ADDRESS | {"shipping": "po\0st:800"}).status_code == 302
    # The same choice again leads to the payment page, also in the language of another tab
    ShippingMethod.objects.filter(pk=post.pk).update(name_zh_hans="邮政")
    for language in ("en", "zh-hans"):
        headers = {"Accept-Language": language}
        answer = client.post(order.address_path, ADDRESS | {"shipping": "post:800"}, headers=headers)
        assert answer["Location"].startswith("/pay/simulated/")


@pytest.fixture
def to_china(client: Client, order: Order) -> Order:
    """Unpaid, to be sent to China for 8.00. Another way leads to Germany too, for 30.00."""
    fast = ShippingMethod.objects.create(code="fast", name="Fast", countries=["CN", "DE"])
    ShippingPrice.objects.create(method=fast, price_minor=3000)
    client.post(order.address_path, ADDRESS | {"shipping": "post:800", "later": "yes"})
    return order


def sent_while_a_payment_page_opens(order: Order, send: Callable[[], Any]) -> Any:
    """The answer to an address that is sent before the payment is committed, and then waits for it."""
    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            create_payment(
                order_id=order.pk, idempotency_key="key", provider_name=None, seen_amount=None, sold_in_the_store=False
            )
            sending = thread.submit(run_and_close(send))
            wait_until(lambda: sending.done() or waiting_for_locks() == 1, seconds_max=30)
        return sending.result(timeout=30)


def test_an_address_in_another_country_that_waits_for_a_payment_page_is_refused_by_the_api(
    to_china: Order, buyer: User
) -> None:
    send = partial(put_address, signed_in(buyer), to_china, **ABROAD, shipping_method="fast", vat_number="DE123456789")
    answer = sent_while_a_payment_page_opens(to_china, send)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert "Delivery was paid for another country." in str(answer.json()["errors"])
    assert ShippingAddress.objects.get().country == "CN"
    assert amounts_of(to_china) == (2700, 800, "Post")
    assert to_china.vat_number == ""


def test_an_address_in_another_country_that_waits_for_a_payment_page_is_asked_for_again(
    to_china: Order, client: Client
) -> None:
    send = partial(client.post, to_china.address_path, ABROAD | {"shipping": "fast:3000"})
    page = sent_while_a_payment_page_opens(to_china, send)
    assert page.status_code == 200
    assert "Delivery was paid for another country." in page.content.decode()
    assert ShippingAddress.objects.get().country == "CN"


def test_the_api_chooses_before_it_pays(order: Order, buyer: User) -> None:
    api = signed_in(buyer)
    refused = press_pay(api, order.number, key="first")
    assert (refused.status_code, refused.json()["code"]) == (409, "delivery_missing")
    assert not Payment.objects.exists()
    offers = api.get("/api/v1/shipping-methods/", {"country": "CN", "order": str(order.number)}).json()
    assert [(offer["code"], offer["price"]) for offer in offers] == [("post", "8.00")]
    missing = put_address(api, order)
    assert (missing.status_code, missing.json()["code"]) == (409, "shipping_not_offered")
    body = put_address(api, order, shipping_method="post").json()
    assert (body["amount"], body["shipping"]) == ("27.00", {"name": "Post", "amount": "8.00"})
    assert press_pay(api, order.number, key="second").status_code == 201


def test_the_api_refuses_another_way_of_sending_once_a_payment_page_has_its_amount(
    to_china: Order, buyer: User
) -> None:
    api = signed_in(buyer)
    assert press_pay(api, to_china.number).status_code == 201
    refused = put_address(api, to_china, city="Ningbo", shipping_method="fast")
    assert (refused.status_code, refused.json()["code"]) == (409, "address_fixed")
    assert ShippingAddress.objects.get().city == "Shanghai"
    # The one that was chosen is no change
    assert put_address(api, to_china, city="Ningbo", shipping_method="post").status_code == 200
    assert put_address(api, to_china, city="Shanghai").status_code == 200
    # Also after staff have renamed it.
    post = ShippingMethod.objects.get(code="post")
    post.name = "Parcel"
    post.save()
    assert put_address(api, to_china, city="Shanghai", shipping_method="post").status_code == 200
    assert put_address(api, to_china, city="Shanghai", shipping_method="fast").status_code == 409
    assert amounts_of(to_china) == (2700, 800, "Post")


def test_in_a_shop_without_ways_of_sending_the_free_one_may_be_named(
    post: ShippingMethod, order: Order, buyer: User
) -> None:
    post.delete()
    assert put_address(signed_in(buyer), order, shipping_method="rocket").status_code == 409
    assert put_address(signed_in(buyer), order, shipping_method="free").status_code == 200


def test_a_strangers_order_has_no_offers(order: Order, stranger: User) -> None:
    for api in (signed_in(stranger), APIClient()):
        wanted = {"country": "CN", "order": str(order.number)}
        assert api.get("/api/v1/shipping-methods/", wanted).status_code == 404
    assert signed_in(stranger).get("/api/v1/shipping-methods/", wanted | {"order": "7"}).status_code == 400
