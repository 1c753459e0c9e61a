"""The list of sales comes in pages: a plain list, with the addresses of the other pages in the header Link."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from seckill.models import Sale, SaleItem
from shop.models import Product
from tests.steps.shop import variant_of

pytestmark = pytest.mark.django_db
SALES = "/api/v1/sales/"


def make_sales(count: int, *, product: Product) -> None:
    now = timezone.now()
    sales = Sale.objects.bulk_create(
        Sale(
            name=f"Sale {number}",
            opens_at=now + timedelta(hours=number + 1),
            closes_at=now + timedelta(hours=number + 2),
            hold_seconds=900,
            published_at=now,
        )
        for number in range(count)
    )
    variant = variant_of(product)
    SaleItem.objects.bulk_create(
        SaleItem(sale=sale, variant=variant, price_minor=100, quantity=5, announced_at=now) for sale in sales
    )


def test_a_reader_who_follows_the_links_meets_each_sale_once(api: APIClient, product: Product) -> None:
    make_sales(45, product=product)
    url, names, lengths = f"{SALES}?phase=upcoming", [], []
    while url:
        answer = api.get(url)
        names += [sale["name"] for sale in answer.json()]
        lengths.append(len(answer.json()))
        _before, found, rest = answer.get("Link", "").rpartition("<")
        url = rest.partition(">")[0] if found and 'rel="next"' in rest else ""
        assert not url or "phase=upcoming" in url
    assert lengths == [20, 20, 5]
    assert names == [f"Sale {number}" for number in range(44, -1, -1)]


def test_the_middle_page_links_both_ways_and_one_that_is_not_there_is_a_problem_document(
    api: APIClient, product: Product
) -> None:
    make_sales(1, product=product)
    assert "Link" not in api.get(SALES)
    make_sales(44, product=product)
    assert api.get(SALES, {"page": 2})["Link"] == (
        '<http://testserver/api/v1/sales/>; rel="prev", <http://testserver/api/v1/sales/?page=3>; rel="next"'
    )
    for page, status in (("4", 404), ("0", 400), ("-1", 400), ("x", 400), ("9" * 30, 400)):
        answer = api.get(SALES, {"page": page})
        assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), page


def test_a_page_makes_as_many_queries_as_one_sale(api: APIClient, product: Product) -> None:
    def query_count() -> int:
        with CaptureQueriesContext(connection) as captured:
            api.get(SALES)
        return len(captured)

    make_sales(1, product=product)
    few = query_count()
    make_sales(30, product=product)
    assert query_count() == few <= 4
