"""An address has the same lines everywhere, in the order of its country."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation

from orders.invoices.invoice import invoice_of
from orders.invoices.pages import document_of
from orders.mails.mail_parts import facts_of
from orders.models import Order, ShippingAddress
from seckill.models import SaleItem
from shop.addresses.address_layout import address_lines
from shop.models import Address
from tests.steps.buying import ADDRESS, HANGZHOU, make_orders
from tests.steps.staff import admin_page, slips_page

IN_LINES = ["310012", "浙江省杭州市西湖区", "文三路 478 号", "3 幢 502 室", "王小明", "中国"]


def lines(**values: str) -> list[str]:
    with translation.override("en"):
        return address_lines({"name": "Kim", "line1": "Street 1", "city": "Town", **values})


def test_the_order_of_the_lines_is_that_of_the_country() -> None:
    for values, expected in (
        ({"country": "DE", "postcode": "10115"}, ["Kim", "Street 1", "10115 Town", "Germany"]),
        (
            {"country": "US", "region": "CA", "postcode": "94103"},
            ["Kim", "Street 1", "Town, CA 94103", "United States"],
        ),
        ({"country": "US", "region": "CA"}, ["Kim", "Street 1", "Town, CA", "United States"]),
        ({"country": "GB", "postcode": "LS1 4DY"}, ["Kim", "Street 1", "Town", "LS1 4DY", "United Kingdom"]),
        ({"country": "CH", "postcode": "8000"}, ["Kim", "Street 1", "CH-8000 Town", "Switzerland"]),
        ({"country": "BR"}, ["Kim", "Street 1", "Town", "Brazil"]),
        # A Chinese address in Latin letters, with and without its parts.
        ({"country": "CN", "postcode": "200051"}, ["Kim", "Street 1", "Town", "200051", "China"]),
        ({"country": "CN", "region": "Fujian"}, ["Kim", "Street 1", "Town", "Fujian", "China"]),
        # A city that is a province too is named once.
        ({"country": "CN", "region": "上海市", "city": "上海市"}, ["上海市", "Street 1", "Kim", "China"]),
        # Fields that the country does not write are not lost.
        ({"country": "DE", "region": "Bayern"}, ["Kim", "Street 1", "Town", "Bayern", "Germany"]),
        ({"country": "JP", "region": "東京都", "city": "港区"}, ["東京都", "港区", "Street 1", "Kim", "Japan"]),
        ({"country": "SG", "city": "Singapore", "postcode": "1"}, ["Kim", "Street 1", "SINGAPORE 1", "Singapore"]),
        ({"line2": "Floor 2"}, ["Kim", "Street 1", "Floor 2", "Town"]),
    ):
        assert lines(**values) == expected, values


@pytest.fixture
def paid(buyer: User, item: SaleItem) -> Order:
    (order,) = make_orders(1, buyer=buyer, item=item)
    ShippingAddress.objects.create(order=order, **HANGZHOU)
    Address.objects.create(user=buyer, is_default=True, **HANGZHOU)
    return order


def in_order(page: Any) -> bool:
    """Whether the lines of the address stand below each other on the page."""
    text = "".join(page.content.decode().split()).replace("<br/>", "<br>")
    return "<br>".join(IN_LINES).replace(" ", "") in text


@pytest.mark.django_db
def test_pages_slip_and_admin_have_these_lines(
    client: Client, as_buyer: Client, paid: Order, shop_manager: User
) -> None:
    for path in (paid.get_absolute_url(), "/accounts/addresses/"):
        assert in_order(as_buyer.get(f"/zh-hans{path}")), path
    client.force_login(shop_manager)
    for path in (admin_page(paid), slips_page(paid)):
        page = client.get(path, headers={"Accept-Language": "zh-hans"})
        assert in_order(page), path


@pytest.mark.django_db
def test_mail_invoice_and_book_have_these_lines(paid: Order, buyer: User) -> None:
    with translation.override("zh-hans"):
        assert IN_LINES in [fact.values for fact in facts_of(paid)]
        assert invoice_of(document_of(paid, None)).buyer[: len(IN_LINES)] == IN_LINES
        assert str(Address.objects.get()) == "，".join(IN_LINES)


@pytest.mark.django_db
def test_an_address_of_before_is_shown_and_can_be_shipped(as_buyer: Client, paid: Order) -> None:
    former = {name: text for name, text in ADDRESS.items() if name != "phone"}
    ShippingAddress.objects.filter(order=paid).update(phone="", district="", region="", line2="", **former)
    assert "Tianshan Road 123" in as_buyer.get(paid.get_absolute_url()).content.decode()
