"""Lists of the API: one kind of pages, the same bounds, and no parameter that is silently ignored."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from seckill.models import SaleItem
from tests.steps.buying import make_orders, signed_in
from tests.steps.shop import goods

pytestmark = pytest.mark.django_db

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
@pytest.mark.parametrize("size", [0, -1, 101, "x", ""])
def test_pages_of_all_lists_have_the_same_bounds(buyer: User, name: str, size: Any) -> None:
    refused = read(buyer, name, page_size=size)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "page_size")
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


@pytest.mark.parametrize("name", ["products", "sales"])
def test_a_page_beyond_the_last_one_is_not_found_and_a_wrong_number_not_valid(buyer: User, name: str) -> None:
    assert read(buyer, name, page=2).json()["code"] == "not_found"
    for page in (0, -1, "x", "", 10_001):
        assert read(buyer, name, page=page).json()["errors"][0]["field"] == "page"
