"""A buyer of a flash sale says before paying to whom the invoice is made out, as in the checkout."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from orders.life import lifecycle
from orders.models import Order
from tests.steps.buying import ADDRESS, put_address, signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("as_buyer")]

COMPANY = {"billing_address": "Tea Import Ltd\r\nHafenstr. 1\r\n20457 Hamburg", "vat_number": "DE123456789"}
LATER = ADDRESS | {"later": "yes"}


def billing_of(order: Order) -> tuple[str, str]:
    order.refresh_from_db()
    return order.billing_address, order.vat_number


def test_company_and_billing_address_stand_on_the_invoice(client: Client, order: Order) -> None:
    assert f'href="{order.address_path}#invoice"' in client.get(order.get_absolute_url()).content.decode()
    client.post(order.address_path, LATER | COMPANY)
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
    for changes in (LATER | {"vat_number": "1" * 21}, {"refresh": "1"}):
        page = client.post(order.address_path, ADDRESS | COMPANY | changes)
        assert page.status_code == 200
        assert "Tea Import Ltd" in page.content.decode()
        assert billing_of(order) == ("", "")
        assert not hasattr(order, "shipping_address")


def test_after_the_payment_the_address_can_change_and_the_invoice_cannot(client: Client, order: Order) -> None:
    client.post(order.address_path, LATER | COMPANY)
    lifecycle.pay(order_id=order.pk)
    assert "VAT number (optional)" not in client.get(order.address_path).content.decode()
    client.post(order.address_path, ADDRESS | {"billing_address": "Somebody else", "vat_number": ""})
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
