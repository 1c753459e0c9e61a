"""Staff keep the catalogue: prices are decimals, the stock is set, and no rule is broken in silence."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from shop.models import Category, Product

PRODUCTS = "/admin/shop/product/"


@pytest.fixture(autouse=True)
def _signed_in(client: Client, shop_manager: User) -> None:
    client.force_login(shop_manager)


def product_form(**changes: Any) -> dict[str, Any]:
    return {"name": "Oolong tea", "slug": "oolong", "price_minor": "50.00", "stock": 3, "is_active": "on"} | changes


def page_of(product: Product) -> str:
    return reverse("admin:shop_product_change", args=[product.pk])


def errors(response: Any) -> dict[str, list[str]]:
    return dict(response.context["adminform"].form.errors)


def test_a_product_is_stored_with_its_price_in_minor_units(client: Client, db: None) -> None:
    assert client.post(f"{PRODUCTS}add/", product_form(price_minor="50.5")).status_code == 302
    product = Product.objects.get()
    assert (product.name, product.price_minor, product.stock) == ("Oolong tea", 5050, 3)


def test_a_category_is_stored(client: Client, db: None) -> None:
    client.post("/admin/shop/category/add/", {"name": "Teapots", "name_zh": "茶壶", "slug": "teapots"})
    assert Category.objects.get().name_zh == "茶壶"


def test_prices_are_shown_as_decimals_with_their_currency(client: Client, product: Product) -> None:
    assert "99.00 CNY" in client.get(PRODUCTS).content.decode()
    assert 'value="99.00"' in client.get(page_of(product)).content.decode()


def test_a_currency_without_decimals_has_none(client: Client, product: Product, settings: Settings) -> None:
    settings.CURRENCY = "JPY"
    assert "9900 JPY" in client.get(PRODUCTS).content.decode()
    response = client.post(f"{PRODUCTS}add/", product_form(price_minor="50.5"))
    assert errors(response) == {"price_minor": ["A price in JPY has no decimals."]}


@pytest.mark.parametrize(
    ("price", "sentence"),
    [
        ("", "This field is required."),
        ("0", "The price must be above zero."),
        ("-1", "The price must be above zero."),
        ("1.999", "A price in CNY has at most 2 decimals."),
        ("free", "Enter a number."),
        ("Infinity", "Enter a number."),
        ("9999999999999", "Ensure that there are no more than 12 digits in total."),
        ("1e-9", "A price in CNY has at most 2 decimals."),
    ],
)
def test_a_price_that_is_none_is_refused_at_its_field(client: Client, db: None, price: str, sentence: str) -> None:
    response = client.post(f"{PRODUCTS}add/", product_form(price_minor=price))
    assert errors(response) == {"price_minor": [sentence]}
    assert not Product.objects.exists()


def test_who_may_only_look_sees_the_price_as_text(client: Client, product: Product) -> None:
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.set(Permission.objects.filter(codename="view_product"))
    client.force_login(viewer)
    page = client.get(page_of(product)).content.decode()
    assert "99.00 CNY" in page
    assert "9900" not in page


def test_products_are_found_by_either_name_when_an_item_is_added(client: Client, product: Product) -> None:
    query = {"app_label": "seckill", "model_name": "saleitem", "field_name": "product", "term": "龙井"}
    found = client.get("/admin/autocomplete/", query).json()["results"]
    assert [result["text"] for result in found] == ["Longjing tea"]


def test_the_stock_that_buyers_took_while_the_page_was_open_stays_taken(client: Client, product: Product) -> None:
    Product.objects.update(stock=7)
    form = product_form(slug=product.slug, price_minor="99.00", stock=10) | {"initial-stock": 10}
    assert client.post(page_of(product), form).status_code == 302
    assert Product.objects.get().stock == 7


def test_a_new_stock_typed_without_knowing_the_present_one_is_refused(client: Client, product: Product) -> None:
    Product.objects.update(stock=7)
    form = product_form(slug=product.slug, price_minor="99.00", stock=20) | {"initial-stock": 10}
    sentence = "The stock has changed to 7 in the meantime. Reload this page, then set it."
    assert errors(client.post(page_of(product), form)) == {"stock": [sentence]}
    assert Product.objects.get().stock == 7


def test_the_stock_is_set(client: Client, product: Product) -> None:
    form = product_form(slug=product.slug, price_minor="99.00", stock=20) | {"initial-stock": 0}
    client.post(page_of(product), form)
    assert Product.objects.get().stock == 20


def test_people_and_their_groups_have_pages(client: Client, shop_manager: User) -> None:
    for page in (
        "user/",
        "user/add/",
        f"user/{shop_manager.pk}/change/",
        f"user/{shop_manager.pk}/password/",
        "group/",
    ):
        assert client.get(f"/admin/auth/{page}").status_code == 200


def test_the_sidebar_leads_only_where_its_reader_may_go(client: Client, shop_manager: User) -> None:
    assert "/admin/seckill/saleitem/" in client.get("/admin/").content.decode()
    cook = User.objects.create_user("cook", is_staff=True)
    cook.user_permissions.set(Permission.objects.filter(codename="view_product"))
    client.force_login(cook)
    page = client.get("/admin/").content.decode()
    assert PRODUCTS in page
    assert "/admin/orders/order/" not in page
