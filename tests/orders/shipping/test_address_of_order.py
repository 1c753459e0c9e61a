"""Where an order goes: asked on the way to payment, set by the API, fixed once the goods have left."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from orders.life import lifecycle
from orders.models import Order, OrderStatus, Payment, ShippingAddress
from orders.shipping.order_address import likely_address, store_address
from shop.models import Address
from tests.steps.buying import ADDRESS, order_of, put_address, signed_in
from tests.steps.paying import press_pay
from tests.steps.shop import other_item

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("as_buyer")]

LATER = ADDRESS | {"later": "yes"}


def pay(client: Client, order: Order) -> Any:
    return client.post(order.pay_path)


def address_of(order: Order) -> dict[str, str]:
    row = ShippingAddress.objects.get(order=order)
    return {name: getattr(row, name) for name in ADDRESS}


# --- the page between the button and the payment company ---


def test_a_paying_buyer_is_asked_where_the_order_goes_and_led_on(client: Client, order: Order) -> None:
    asked = pay(client, order)
    assert asked["Location"] == f"{order.get_absolute_url()}address/"
    assert not Payment.objects.exists()
    page = client.get(asked["Location"]).content.decode()
    assert "The price includes delivery." in page
    assert 'autocomplete="shipping postal-code"' in page
    assert client.post(asked["Location"], ADDRESS)["Location"].startswith("/pay/simulated/")
    assert address_of(order) == ADDRESS
    # And not asked again.
    assert pay(client, order)["Location"].startswith("/pay/simulated/")


def test_a_shop_that_sends_nothing_asks_nothing(client: Client, order: Order, settings: Settings) -> None:
    settings.SHIPPING_ADDRESS_REQUIRED = False
    assert pay(client, order)["Location"].startswith("/pay/simulated/")


def test_an_error_is_shown_at_the_field_and_nothing_is_saved(client: Client, order: Order) -> None:
    page = client.post(f"/zh-hans{order.address_path}", ADDRESS | {"postcode": "?", "name": ""}).content.decode()
    assert "请填写收货人姓名。" in page
    assert "邮政编码格式不正确" in page
    assert "请填写手机号码，快递员会与您联系。" not in page
    assert 'value="Tianshan Road 123"' in page
    assert not ShippingAddress.objects.exists()


def test_the_form_begins_with_the_address_of_the_last_order_or_the_default_one_of_the_account(
    client: Client, buyer: User, order: Order
) -> None:
    store_address(order_id=order.pk, values=ADDRESS | {"city": "Suzhou"})
    following = order_of(other_item(), buyer)
    assert 'value="Suzhou"' in client.get(following.address_path).content.decode()
    # The default one of the account comes first.
    saved = Address.objects.create(user=buyer, is_default=True, **ADDRESS | {"city": "Ningbo"})
    assert likely_address(buyer_id=buyer.pk) == saved


def test_the_address_of_somebody_else_is_not_shown_or_changed(client: Client, order: Order, stranger: User) -> None:
    store_address(order_id=order.pk, values=ADDRESS)
    client.force_login(stranger)
    assert client.get(order.address_path).status_code == 404
    assert client.post(order.address_path, ADDRESS | {"city": "Elsewhere"}).status_code == 404
    assert put_address(signed_in(stranger), order, city="Elsewhere").status_code == 404
    assert put_address(APIClient(), order, city="Elsewhere").status_code == 401
    assert address_of(order) == ADDRESS


def test_the_address_can_be_changed_until_the_goods_have_left(client: Client, order: Order, buyer: User) -> None:
    store_address(order_id=order.pk, values=ADDRESS)
    assert lifecycle.pay(order_id=order.pk)
    assert client.post(order.address_path, ADDRESS | {"city": "Ningbo"})["Location"] == order.get_absolute_url()
    assert address_of(order)["city"] == "Ningbo"
    assert "Ningbo" in client.get(order.get_absolute_url()).content.decode()
    assert lifecycle.ship(order_id=order.pk)
    assert client.post(order.address_path, ADDRESS)["Location"] == order.get_absolute_url()
    refused = put_address(signed_in(buyer), order)
    assert (refused.status_code, refused.json()["code"]) == (409, "address_fixed")
    assert address_of(order)["city"] == "Ningbo"


def test_an_order_that_was_sent_or_has_ended_keeps_its_address(order: Order) -> None:
    for status in set(OrderStatus) - {OrderStatus.AWAITING_PAYMENT, OrderStatus.PAID}:
        Order.objects.filter(pk=order.pk).update(status=status, ended_at=order.created_at)
        assert not store_address(order_id=order.pk, values=ADDRESS), status
    assert not ShippingAddress.objects.exists()


def test_an_order_whose_delivery_was_paid_stays_in_its_country(client: Client, order: Order, buyer: User) -> None:
    store_address(order_id=order.pk, values=ADDRESS)
    Order.objects.filter(pk=order.pk).update(shipping_name="Express")
    client.post(order.address_path, LATER | {"country": "DE", "postcode": "10115"})
    assert put_address(signed_in(buyer), order, country="DE").json()["code"] == "invalid"
    assert address_of(order) == ADDRESS
    client.post(order.address_path, LATER | {"city": "Ningbo"})
    assert address_of(order)["city"] == "Ningbo"


# --- the API ---


def test_the_api_sets_the_address_and_shows_it(order: Order, buyer: User) -> None:
    api = signed_in(buyer)
    answer = put_address(api, order, phone="＋８６ 138 0013 8000", country="cn")
    assert answer.status_code == 200
    full = ADDRESS | {"line2": "", "district": "", "region": "", "phone": "+86 138 0013 8000"}
    assert answer.json()["shipping_address"] == full
    assert api.get(f"/api/v1/orders/{order.number}/").json()["shipping_address"] == full


def test_the_api_says_which_field_is_wrong(order: Order, buyer: User) -> None:
    wrong: list[tuple[str, dict[str, str]]] = [
        ("name", {"name": ""}),
        ("country", {"country": "ZZ"}),
        # A rule of the country, as in the form.
        ("region", {"city": "Suzhou"}),
        ("strasse", {"strasse": "x"}),
    ]
    for field, changes in wrong:
        answer = put_address(signed_in(buyer), order, **changes)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), changes
        assert field in str(answer.json()["errors"])


def test_the_api_takes_a_payment_without_an_address_as_before(order: Order, buyer: User) -> None:
    assert press_pay(signed_in(buyer), order.number).status_code == 201


COMPANY = {"billing_address": "Tea Import Ltd\r\nHafenstr. 1\r\n20457 Hamburg", "vat_number": "DE123456789"}


def billing_of(order: Order) -> tuple[str, str]:
    order.refresh_from_db()
    return order.billing_address, order.vat_number


def test_company_and_billing_address_stand_on_the_invoice(client: Client, order: Order) -> None:
    assert f'href="{order.address_path}#invoice"' in client.get(order.get_absolute_url()).content.decode()
    assert client.post(order.address_path, LATER | COMPANY)["Location"] == order.get_absolute_url()
    assert not Payment.objects.exists()
    page = client.get(order.get_absolute_url()).content.decode()
    assert "Tea Import Ltd<br>" in page
    assert "VAT number: DE123456789" in page
    assert "Tea Import Ltd" in client.get(order.address_path).content.decode()
    lifecycle.pay(order_id=order.pk)
    invoice = client.get(order.invoice_path).content.decode()
    for words in ("Tea Import Ltd", "20457 Hamburg", "VAT number: DE123456789"):
        assert words in invoice, words
    assert "Tianshan Road" not in invoice


def test_typed_texts_are_kept_where_one_is_too_long_or_another_country_is_chosen(client: Client, order: Order) -> None:
    for changes in ({"vat_number": "1" * 21}, {"refresh": "1"}):
        page = client.post(order.address_path, ADDRESS | COMPANY | changes)
        assert page.status_code == 200
        assert "Tea Import Ltd" in page.content.decode()
        assert billing_of(order) == ("", "")
        assert not hasattr(order, "shipping_address")


def test_after_the_payment_the_address_can_change_and_the_invoice_cannot(client: Client, order: Order) -> None:
    client.post(order.address_path, LATER | COMPANY)
    lifecycle.pay(order_id=order.pk)
    assert "VAT number (optional)" not in client.get(order.address_path).content.decode()
    written = "The invoice is written already, and stays as it is."
    for sent in (COMPANY, {"billing_address": "Somebody else", "vat_number": ""}):
        page = client.post(order.address_path, ADDRESS | sent, follow=True).content.decode()
        assert (written in page) is (sent != COMPANY)
        assert billing_of(order)[1] == "DE123456789"


def test_the_api_takes_them_with_the_address_until_the_order_is_paid(buyer: User, order: Order) -> None:
    api = signed_in(buyer)
    answer = put_address(api, order, **COMPANY)
    assert (answer.status_code, answer.json()["vat_number"]) == (200, "DE123456789")
    assert answer.json()["billing_address"].startswith("Tea Import Ltd")
    # What is left out stays.
    assert put_address(api, order).json()["vat_number"] == "DE123456789"
    assert put_address(api, order, vat_number="").json()["vat_number"] == ""
    assert put_address(api, order, vat_number="1" * 21).json()["errors"][0]["field"] == "vat_number"
    # Then all of it is refused, and the address alone is not.
    lifecycle.pay(order_id=order.pk)
    refused = put_address(api, order, name="Han Meimei", vat_number="DE123456789")
    assert (refused.status_code, refused.json()["code"]) == (409, "address_fixed")
    assert Order.objects.get().shipping_address.name == "Li Lei"
    assert put_address(api, order, name="Han Meimei").status_code == 200
