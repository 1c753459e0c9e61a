"""The catalogue over the API: what it answers, in which language, and that nonsense is refused."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from shop.models import Category, Product, Variant
from tests.steps.shop import make_product, variant_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def shirt(product: Product) -> Product:
    """A product with two options, in a category below another."""
    clothing = Category.objects.create(slug="clothing", name="Clothing", name_zh_hans="服饰")
    tops = Category.objects.create(slug="tops", name="Tops", name_zh_hans="上衣", parent=clothing)
    shirt = make_product(
        slug="shirt",
        name="Linen shirt",
        name_zh_hans="亚麻衬衫",
        option_names="Size / Colour",
        option_names_zh_hans="尺码 / 颜色",
        price_minor=29900,
        units=7,
        category=tops,
    )
    variant = variant_of(shirt)
    variant.options = "M / Red"
    setattr(variant, "options_zh_hans", "M / 红色")  # noqa: B010 no type has this column
    variant.save()
    return shirt


def test_a_product_has_its_variants_with_options_price_and_stock(api: APIClient, shirt: Product) -> None:
    answer = api.get("/api/v1/products/shirt/")
    assert answer.status_code == 200
    assert answer.json() == {
        "slug": "shirt",
        "name": "Linen shirt",
        "description": "",
        "category": "tops",
        "images": [],
        "variants": [
            {
                "sku": "SKU-shirt",
                "options": [{"name": "Size", "value": "M"}, {"name": "Colour", "value": "Red"}],
                "price": "299.00",
                "currency": "CNY",
                "available": 7,
            }
        ],
    }
    chinese = api.get("/api/v1/products/shirt/", headers={"accept-language": "zh-CN"})
    assert chinese.json()["name"] == "亚麻衬衫"
    assert chinese.json()["variants"][0]["options"][1] == {"name": "颜色", "value": "红色"}
    assert chinese["ETag"] != answer["ETag"]


def test_categories_are_a_tree(api: APIClient, shirt: Product) -> None:
    categories = {category["slug"]: category for category in api.get("/api/v1/categories/").json()}
    assert categories["tops"] == {"slug": "tops", "name": "Tops", "parent": "clothing"}
    assert categories["clothing"]["parent"] is None


FOUND = {
    "": ["shirt", "longjing"],
    "?search=shirts": ["shirt"],
    "?search=衬衫": ["shirt"],
    "?search=SKU-longjing": ["longjing"],
    "?category=clothing": ["shirt"],
    "?category=tea": ["longjing"],
    "?min_price=100": ["shirt"],
    "?max_price=100.00": ["longjing"],
    "?min_price=99&max_price=299": ["shirt", "longjing"],
    "?ordering=price": ["longjing", "shirt"],
    "?ordering=-price": ["shirt", "longjing"],
    "?ordering=name": ["shirt", "longjing"],
    "?ordering=relevance": ["shirt", "longjing"],
    "?search=unicorn": [],
}


def test_the_list_is_searched_filtered_and_sorted(api: APIClient, shirt: Product) -> None:
    for query, slugs in FOUND.items():
        answer = api.get(f"/api/v1/products/{query}")
        assert [product["slug"] for product in answer.json()] == slugs, query
        assert answer["Total-Count"] == str(len(slugs)), query


NONSENSE = [
    *(("colour=red", "colour"), ("min_price=x", "min_price"), ("min_price=-1", "min_price"), ("page=0", "page")),
    *(("max_price=NaN", "max_price"), ("max_price=1e400", "max_price"), ("max_price=0.001", "max_price")),
    *(("ordering=up", "ordering"), ("ordering=", "ordering"), ("category=none", "category"), ("page=x", "page")),
    *(("category=a%20b", "category"), ("search=%00", "search"), (f"search={'x' * 101}", "search")),
    *(("search=", "search"), ("page=1&page=2", "page"), ("page=99999999999", "page")),
]


def test_nonsense_is_refused_and_named(api: APIClient, shirt: Product) -> None:
    for query, field in NONSENSE:
        answer = api.get(f"/api/v1/products/?{query}")
        assert answer.status_code == 400, query
        assert answer["Content-Type"] == "application/problem+json", query
        assert [error["field"] for error in answer.json()["errors"]] == [field], query


def test_a_hidden_product_is_not_there(api: APIClient, shirt: Product) -> None:
    shirt.is_active = False
    shirt.save()
    refusal = api.get("/api/v1/products/shirt/")
    assert (refusal.status_code, refusal.json()["code"]) == (404, "not_found")
    assert [product["slug"] for product in api.get("/api/v1/products/").json()] == ["longjing"]


def test_the_number_of_queries_is_constant(
    api: APIClient, shirt: Product, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    calls: dict[str, Any] = {"products/": 4, "products/?search=shirt": 4, "products/shirt/": 3, "categories/": 1}
    for more in (0, 3):
        for number in range(more):
            product = make_product(slug=f"p{number}", name="A shirt", price_minor=1)
            Variant.objects.create(product=product, sku=f"second-{number}", price_minor=2)
        for path, queries in calls.items():
            with django_assert_num_queries(queries):
                assert api.get(f"/api/v1/{path}").status_code == 200


def test_an_answer_in_another_language_or_with_another_link_has_another_tag(api: APIClient) -> None:
    for slug in ("tea", "cup"):
        make_product(slug=slug, name=slug, price_minor=100)
    callers: list[dict[str, str]] = [{}, {"Host": "localhost"}, {"Accept-Language": "zh-hans"}]
    answers = [api.get("/api/v1/products/?page_size=1", headers=caller) for caller in callers]
    assert len({answer.content for answer in answers}) == 1
    assert len({answer["ETag"] for answer in answers}) == 3
