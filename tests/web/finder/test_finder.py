"""One field of the admin finds orders, customers, products and sales; each kind only for those who may see it."""

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from orders.models import Order, ShippingAddress
from seckill.models import Sale, SaleItem
from shop.models import Product, Variant
from tests.steps.buying import ADDRESS, make_orders, order_of, with_address
from tests.steps.shop import goods, statements_for
from tests.steps.staff import admin_page, customer_page, employee
from web.finder import finder
from web.finder.finder import KINDS, ROWS_MAX, TEXT_LENGTH_MAX

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


def test_an_order_is_found_by_what_people_read_out_and_its_number_leads_to_its_page(
    as_manager: Client, order: Order
) -> None:
    for text in ("buyer@exam", "BUYER", "Li Lei", "138 0013 8000", "SF12345678901", order.code[:5]):
        assert found(as_manager, text)["Orders"] == [admin_page(order)], text
    for typed in (order.code, order.shown_code, order.shown_code.lower(), f" {order.code[:4]} {order.code[4:]} "):
        assert as_manager.get(FIND, {"q": typed}).headers["Location"] == admin_page(order), typed


def test_customers_products_and_sales_are_found(as_manager: Client, order: Order, buyer: User, item: SaleItem) -> None:
    Product.objects.update(name_en="Longjing tea", name_zh_hans="龙井茶")
    type(item.sale).objects.update(name_en="Autumn sale", name_zh_hans="秋季特卖")
    User.objects.create_user("buyer@example-of-staff", is_staff=True)
    assert found(as_manager, "buyer@exam")["Customers"] == [customer_page(buyer)]
    for text in ("longjing", "龙井", "茶", item.variant.sku[1:].lower()):
        assert found(as_manager, text)["Products"] == [admin_page(item.product)], text
    for text in ("autumn", "秋季"):
        assert found(as_manager, text)["Sales"] == [admin_page(item.sale)], text
    Variant.objects.create(product=item.product, sku="TEA-LARGE", options="250 g", price_minor=100)
    assert "TEA-LARGE 250 g" in as_manager.get(FIND, {"q": "tea-lar"}).content.decode()
    User.objects.filter(pk=buyer.pk).update(is_active=False)
    Product.objects.update(is_active=False)
    for text, state in (("buyer@exam", "blocked"), ("longjing", "not shown")):
        (section,) = (each for each in as_manager.get(FIND, {"q": text}).context["sections"] if each.title != "Orders")
        assert state in section.rows[0].details


def test_each_kind_is_found_by_those_who_may_see_it_alone(client: Client, order: Order, item: SaleItem) -> None:
    # Given a text that everything has
    Product.objects.update(name_en="buyer")
    type(item.sale).objects.update(name_en="buyer")
    person = employee()
    client.force_login(person)
    for model, kind in (("order", "Orders"), ("user", "Customers"), ("product", "Products"), ("sale", "Sales")):
        for codename in (f"view_{model}", f"change_{model}"):
            person.user_permissions.set(Permission.objects.filter(codename=codename))
            assert list(found(client, "buyer")) == [kind], codename
    # Staff who may see nothing any more find nothing, not even a number.
    person.user_permissions.clear()
    page = client.get(FIND, {"q": order.shown_code})
    assert (page.status_code, page.context["sections"]) == (200, [])
    client.logout()
    assert client.get(FIND, {"q": order.shown_code}).headers["Location"].startswith("/admin/login/")


def test_hostile_and_short_texts_find_nothing(as_manager: Client, order: Order) -> None:
    for text in ("", "a", " ", "%", "_", "\0", "\0\0", "%%", "'; --", "\\", "x" * 5000, "\ud83d"):
        answer = as_manager.get(f"{FIND}?q={quote(text, errors='surrogatepass')}")
        assert (answer.status_code, answer.context["sections"]) == (200, []), text
        assert len(answer.context["found_text"]) <= TEXT_LENGTH_MAX
    assert "<b>bold" not in as_manager.get(FIND, {"q": "<b>bold"}).content.decode()


def test_the_field_stands_in_the_sidebar_and_on_the_first_page(as_manager: Client) -> None:
    assert as_manager.get("/admin/").content.decode().count(f'action="{FIND}"') == 2
    assert f'action="{FIND}"' in as_manager.get("/admin/orders/order/").content.decode()


def load_rows(count: int, *, item: SaleItem, buyer: User) -> None:
    """So many of each kind, all with the same name."""
    User.objects.bulk_create(User(username=f"demo-{uuid4()}") for _ in range(count))
    for _ in range(count):
        goods(f"demo-{uuid4()}")
    times = {"opens_at": item.sale.opens_at, "closes_at": item.sale.closes_at}
    Sale.objects.bulk_create(Sale(name="Demo sale", **times) for _ in range(count))
    make_orders(count, buyer=buyer, item=item)


def test_more_rows_cost_no_more_statements_and_are_on_the_list(
    as_manager: Client, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    buyer = User.objects.create(username="demo")
    load_rows(3, item=item, buyer=buyer)
    few = statements_for(as_manager, f"{FIND}?q=demo")
    load_rows(2 * ROWS_MAX, item=item, buyer=buyer)
    assert statements_for(as_manager, f"{FIND}?q=demo") == few
    sections = as_manager.get(FIND, {"q": "demo"}).context["sections"]
    assert [len(section.rows) for section in sections] == [ROWS_MAX] * len(KINDS)
    assert sections[0].more_url == "/admin/orders/order/?q=demo"
    # A text that thousands have is not looked for in all of them.
    monkeypatch.setattr(finder, "PEOPLE_MAX", 3)
    monkeypatch.setattr(finder, "SKUS_MAX", 3)
    assert len(found(as_manager, "demo")["Customers"]) == len(found(as_manager, "SKU-demo")["Products"]) == 3


def test_each_kind_leads_to_a_list_of_the_admin() -> None:
    assert all(reverse(f"admin:{kind.page}") for kind in KINDS)
