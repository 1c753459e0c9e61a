"""One field of the admin finds orders, customers, products and sales; each kind only for those who may see it."""

from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from bench.demo.long_lists import load_many
from bench.demo.past_orders import load_orders
from orders.models import Order, ShippingAddress
from seckill.models import SaleItem
from shop.demo.loading import load_goods
from shop.models import Product, Variant
from tests.steps.buying import ADDRESS, order_of, with_address
from tests.steps.shop import statements_for
from tests.steps.staff import admin_page, customer_page, employee
from web.finder.finder import KINDS, ROWS_MAX

pytestmark = pytest.mark.django_db

FIND = "/admin/find/"


@pytest.fixture
def order(buyer: User, item: SaleItem) -> Order:
    with_address(buyer)
    order = order_of(item, buyer)
    ShippingAddress.objects.create(order=order, **ADDRESS)
    Order.objects.update(carrier="SF", tracking_number="SF 1234 5678 901")
    return order


def found(client: Client, text: str) -> dict[str, list[str]]:
    """By kind the addresses of what was found."""
    sections: list[Any] = client.get(FIND, {"q": text}).context["sections"]
    return {str(section.title): [row.url for row in section.rows] for section in sections}


@pytest.mark.parametrize("text", ["buyer@exam", "BUYER", "Li Lei", "138 0013 8000", "SF12345678901"])
def test_an_order_is_found_by_what_people_read_out(as_manager: Client, order: Order, text: str) -> None:
    assert found(as_manager, text)["Orders"] == [admin_page(order)]


def test_the_number_of_an_order_leads_to_its_page(as_manager: Client, order: Order) -> None:
    for typed in (order.code, order.shown_code, order.shown_code.lower(), f" {order.code[:4]} {order.code[4:]} "):
        assert as_manager.get(FIND, {"q": typed}).headers["Location"] == admin_page(order), typed
    assert found(as_manager, order.code[:5])["Orders"] == [admin_page(order)]


def test_customers_products_and_sales_are_found(as_manager: Client, order: Order, buyer: User, item: SaleItem) -> None:
    Product.objects.update(name_en="Longjing tea", name_zh_hans="龙井茶")
    type(item.sale).objects.update(name_en="Autumn sale", name_zh_hans="秋季特卖")
    assert found(as_manager, "buyer@exam")["Customers"] == [customer_page(buyer)]
    for text in ("longjing", "龙井", "茶", item.variant.sku[1:].lower()):
        assert found(as_manager, text)["Products"] == [admin_page(item.product)], text
    for text in ("autumn", "秋季"):
        assert found(as_manager, text)["Sales"] == [admin_page(item.sale)], text


def test_a_sku_names_the_variant_that_has_it(as_manager: Client, product: Product) -> None:
    Variant.objects.create(product=product, sku="TEA-LARGE", options="250 g", price_minor=100)
    page = as_manager.get(FIND, {"q": "tea-lar"}).content.decode()
    assert "TEA-LARGE 250 g" in page


@pytest.mark.parametrize(
    ("codename", "kind"),
    [
        *(
            ("view_order", "Orders"),
            ("change_order", "Orders"),
            ("view_user", "Customers"),
            ("change_user", "Customers"),
        ),
        *(
            ("view_product", "Products"),
            ("change_product", "Products"),
            ("view_sale", "Sales"),
            ("change_sale", "Sales"),
        ),
    ],
)
def test_each_kind_is_found_by_those_who_may_see_it_alone(
    client: Client, order: Order, item: SaleItem, codename: str, kind: str
) -> None:
    # Given a text that everything has
    Product.objects.update(name_en="buyer")
    type(item.sale).objects.update(name_en="buyer")
    client.force_login(employee(codename))
    assert list(found(client, "buyer")) == [kind]


def test_staff_who_may_see_nothing_find_nothing_not_even_a_number(client: Client, order: Order) -> None:
    client.force_login(employee())
    page = client.get(FIND, {"q": order.shown_code})
    assert page.status_code == 200
    assert page.context["sections"] == []
    client.logout()
    assert client.get(FIND, {"q": order.shown_code}).headers["Location"].startswith("/admin/login/")


def test_a_right_that_was_taken_away_ends_at_once(client: Client, order: Order) -> None:
    person = employee("view_order")
    client.force_login(person)
    assert found(client, "buyer")
    person.user_permissions.clear()
    assert found(client, "buyer") == {}


def test_accounts_with_rights_are_no_customers(as_manager: Client, buyer: User) -> None:
    User.objects.create_user("buyer-of-goods", is_staff=True)
    assert found(as_manager, "buyer")["Customers"] == [customer_page(buyer)]


@pytest.mark.parametrize("text", ["", "a", " ", "%", "_", "\0", "\0\0", "%%", "'; --", "\\", "x" * 5000, "\ud83d"])
def test_hostile_and_short_texts_find_nothing(as_manager: Client, order: Order, text: str) -> None:
    answer = as_manager.get(f"{FIND}?q={quote(text, errors='surrogatepass')}")
    assert (answer.status_code, answer.context["sections"]) == (200, [])


def test_typed_words_are_escaped(as_manager: Client) -> None:
    assert "<b>bold" not in as_manager.get(FIND, {"q": "<b>bold"}).content.decode()


def test_the_field_stands_in_the_sidebar_and_on_the_first_page(as_manager: Client) -> None:
    assert as_manager.get("/admin/").content.decode().count(f'action="{FIND}"') == 2
    assert f'action="{FIND}"' in as_manager.get("/admin/orders/order/").content.decode()


@pytest.mark.slow
def test_more_rows_cost_no_more_statements_and_are_on_the_list(as_manager: Client) -> None:
    load_goods()
    load_many(10)
    load_orders(15)
    texts = ("demo", "tray", "MANY-1", "sale")
    few = [statements_for(as_manager, f"{FIND}?q={text}") for text in texts]
    load_many(40)
    load_orders(60)
    assert [statements_for(as_manager, f"{FIND}?q={text}") for text in texts] == few
    for section in as_manager.get(FIND, {"q": "demo"}).context["sections"]:
        assert len(section.rows) <= ROWS_MAX
    orders = as_manager.get(FIND, {"q": "demo"}).context["sections"][0]
    assert orders.more_url == "/admin/orders/order/?q=demo"


def test_each_kind_leads_to_a_list_of_the_admin() -> None:
    assert all(reverse(f"admin:{kind.page}") for kind in KINDS)
