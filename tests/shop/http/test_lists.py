"""Lists of the API: one kind of pages, the same bounds, and no parameter that is silently ignored."""

import gzip
from base64 import b64encode
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from orders.models import Order
from seckill.models import SaleItem
from shop.models import Category, Picture, Product, Variant
from tests.steps.buying import make_orders, signed_in
from tests.steps.shop import goods

pytestmark = pytest.mark.django_db

ZIPPED = {"Accept-Encoding": "gzip"}
PAGED = ["products", "sales", "orders"]


def read(buyer: User, name: str, **query: Any) -> Any:
    needed = {"country": "CN"} if name == "shipping-methods" else {}
    return signed_in(buyer).get(f"/api/v1/{name}/", needed | query)


def test_an_unknown_parameter_is_refused_by_its_name(buyer: User) -> None:
    for name in (*PAGED, "categories", "me", "shipping-methods"):
        assert read(buyer, name).status_code == 200, name
        refused = read(buyer, name, colour="red")
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
        assert [(error["field"], error["code"]) for error in refused.json()["errors"]] == [("colour", "unknown_field")]


def test_pages_of_all_lists_have_the_same_bounds(buyer: User) -> None:
    for name in PAGED:
        for size in (0, -1, 101, "x", ""):
            refused = read(buyer, name, page_size=size)
            assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "page_size"), (name, size)
        for allowed in (1, 100):
            assert read(buyer, name, page_size=allowed).status_code == 200, name


def test_a_page_beyond_the_last_one_is_not_found_and_a_wrong_number_not_valid(buyer: User) -> None:
    for name in ("products", "sales"):
        assert read(buyer, name, page=2).json()["code"] == "not_found", name
        for page in (0, -1, "x", "", 10_001):
            assert read(buyer, name, page=page).json()["errors"][0]["field"] == "page", (name, page)


def test_the_reader_chooses_the_size_of_a_page(buyer: User, item: SaleItem) -> None:
    goods("tea"), goods("cup")
    make_orders(3, buyer=buyer, item=item)
    products = read(buyer, "products", page_size=2)
    assert (len(products.json()), products["Total-Count"]) == (2, "3")
    assert products["Link"] == '<http://testserver/api/v1/products/?page=2&page_size=2>; rel="next"'
    second = read(buyer, "products", page_size=2, page=2)
    assert len(second.json()) == 1
    assert second["Link"] == '<http://testserver/api/v1/products/?page_size=2>; rel="prev"'
    sales = read(buyer, "sales", page_size=1)
    assert (len(sales.json()), sales["Total-Count"]) == (1, "1")
    orders = read(buyer, "orders", page_size=2).json()
    assert len(orders["results"]) == 2
    assert "page_size=2" in orders["next"]
    assert len(signed_in(buyer).get(orders["next"]).json()["results"]) == 1


def test_a_cursor_that_is_none_of_ours_is_not_found(buyer: User) -> None:
    for position in ("p=x", "p=", "r=1&p=2026-13-45", "p=%00"):
        refused = read(buyer, "orders", cursor=b64encode(position.encode()).decode())
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found"), position


def test_another_count_is_another_answer(client: Client) -> None:
    goods("tea"), goods("cup"), goods("pot")
    first = client.get("/api/v1/products/?page_size=1&ordering=name")
    goods("zither")
    again = client.get("/api/v1/products/?page_size=1&ordering=name", headers={"If-None-Match": first["ETag"]})
    assert (first["Total-Count"], again.status_code, again.get("Total-Count")) == ("3", 200, "4")


def test_no_cache_keeps_what_is_personal(order: Order, buyer: User) -> None:
    for path in ("orders/", f"orders/{order.number}/", "me/", "cart/", "shipping-methods/?country=CN"):
        answer = signed_in(buyer).get(f"/api/v1/{path}", headers=ZIPPED)
        assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store"), path


def test_public_answers_may_be_cached_asked_for_again_and_compressed(client: Client, item: SaleItem) -> None:
    Product.objects.update(description="The first leaves of the year. " * 10)
    Category.objects.bulk_create(Category(name=f"Tea {number}", slug=f"tea-{number}") for number in range(9))
    paths = ("sales/", f"sales/{item.sale_id}/", "products/", "products/longjing/", "categories/")
    first = {path: client.get(f"/api/v1/{path}") for path in paths}
    for path, answer in first.items():
        assert answer["Cache-Control"] == "public, max-age=1", path
        zipped = client.get(f"/api/v1/{path}", headers=ZIPPED)
        for etag in (answer["ETag"], zipped["ETag"]):
            for headers in ({}, ZIPPED):
                same = client.get(f"/api/v1/{path}", headers={"If-None-Match": etag, **headers})
                assert (same.status_code, same.content) == (304, b""), path
        assert (zipped["Content-Encoding"], zipped["ETag"]) == ("gzip", f"W/{answer['ETag'].removeprefix('W/')}")
        assert {"Accept-Encoding", "Accept-Language"} <= set(zipped["Vary"].split(", ")), path
        assert b"tea" in gzip.decompress(zipped.content), path
    SaleItem.objects.update(price_minor=1234)
    Variant.objects.update(price_minor=4321)
    Category.objects.update(name_en="Teas")
    for path, answer in first.items():
        assert client.get(f"/api/v1/{path}", headers={"If-None-Match": answer["ETag"]}).status_code == 200, path


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
