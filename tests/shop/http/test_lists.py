"""Lists of the API: one kind of pages, the same bounds, and no parameter that is silently ignored."""

import gzip
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from orders.models import Order
from seckill.models import SaleItem
from shop.models import Picture, Product, Variant
from tests.steps.buying import make_orders, signed_in
from tests.steps.shop import goods

pytestmark = pytest.mark.django_db

ZIPPED = {"Accept-Encoding": "gzip"}
PAGED = ["products", "sales", "orders"]
ALL = [*PAGED, "categories", "me", "shipping-methods"]


def read(buyer: User, name: str, **query: Any) -> Any:
    needed = {"country": "CN"} if name == "shipping-methods" else {}
    return signed_in(buyer).get(f"/api/v1/{name}/", needed | query)


@pytest.mark.parametrize("name", ALL)
def test_an_unknown_parameter_is_refused_by_its_name(buyer: User, name: str) -> None:
    assert read(buyer, name).status_code == 200
    refused = read(buyer, name, colour="red")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    assert [(error["field"], error["code"]) for error in refused.json()["errors"]] == [("colour", "unknown_field")]


@pytest.mark.parametrize("name", PAGED)
def test_pages_of_all_lists_have_the_same_bounds(buyer: User, name: str) -> None:
    for size in (0, -1, 101, "x", ""):
        refused = read(buyer, name, page_size=size)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "page_size"), size
    for allowed in (1, 100):
        assert read(buyer, name, page_size=allowed).status_code == 200


def test_the_reader_chooses_the_size_of_a_page(buyer: User, item: SaleItem) -> None:
    goods("tea"), goods("cup")
    make_orders(3, buyer=buyer, item=item)
    products = read(buyer, "products", page_size=2)
    assert (len(products.json()), products["Total-Count"]) == (2, "3")
    assert products["Link"] == '<http://testserver/api/v1/products/?page=2&page_size=2>; rel="next"'
    sales = read(buyer, "sales", page_size=1)
    assert (len(sales.json()), sales["Total-Count"]) == (1, "1")
    orders = read(buyer, "orders", page_size=2).json()
    assert len(orders["results"]) == 2
    assert "page_size=2" in orders["next"]
    assert len(signed_in(buyer).get(orders["next"]).json()["results"]) == 1


@pytest.mark.parametrize("path", ["orders/", "orders/{number}/", "me/", "cart/", "shipping-methods/?country=CN"])
def test_no_cache_keeps_what_is_personal(order: Order, buyer: User, path: str) -> None:
    answer = signed_in(buyer).get(f"/api/v1/{path.format(number=order.number)}", headers=ZIPPED)
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")


@pytest.mark.parametrize("path", ["sales/", "sales/{sale}/", "products/", "products/longjing/"])
def test_public_answers_may_be_cached_asked_for_again_and_compressed(client: Client, item: SaleItem, path: str) -> None:
    Product.objects.update(description="The first leaves of the year. " * 10)
    address = f"/api/v1/{path.format(sale=item.sale_id)}"
    answer = client.get(address)
    assert answer["Cache-Control"] == "public, max-age=1"
    zipped = client.get(address, headers=ZIPPED)
    for etag in (answer["ETag"], zipped["ETag"]):
        for headers in ({}, ZIPPED):
            same = client.get(address, headers={"If-None-Match": etag, **headers})
            assert (same.status_code, same.content) == (304, b"")
    assert (zipped["Content-Encoding"], zipped["ETag"]) == ("gzip", f"W/{answer['ETag'].removeprefix('W/')}")
    assert {"Accept-Encoding", "Accept-Language"} <= set(zipped["Vary"].split(", "))
    assert b"longjing" in gzip.decompress(zipped.content)
    SaleItem.objects.update(price_minor=1234)
    Variant.objects.update(price_minor=4321)
    assert client.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 200


def test_the_description_of_the_api_is_compressed(client: Client) -> None:
    assert client.get("/api/schema/", headers=ZIPPED)["Content-Encoding"] == "gzip"


def test_an_item_of_a_sale_says_what_is_sold(client: Client, item: SaleItem) -> None:
    Product.objects.update(option_names="Weight / Tin")
    Variant.objects.update(options="50 g / Red")
    # Without its file.
    Picture.objects.bulk_create([Picture(product=item.product, image="tea.webp", alt="A tin of tea")])
    [shown] = client.get(f"/api/v1/sales/{item.sale_id}/").json()["items"]
    assert shown["sku"] == "SKU-longjing"
    assert shown["options"] == [{"name": "Weight", "value": "50 g"}, {"name": "Tin", "value": "Red"}]
    product = client.get("/api/v1/products/longjing/").json()
    assert shown["image"] == product["images"][0]
    assert shown["image"]["alt"] == "A tin of tea"
    assert product["variants"][0]["options"] == shown["options"]


@pytest.mark.parametrize("name", ["products", "sales"])
def test_a_page_beyond_the_last_one_is_not_found_and_a_wrong_number_not_valid(buyer: User, name: str) -> None:
    assert read(buyer, name, page=2).json()["code"] == "not_found"
    for page in (0, -1, "x", "", 10_001):
        assert read(buyer, name, page=page).json()["errors"][0]["field"] == "page"
