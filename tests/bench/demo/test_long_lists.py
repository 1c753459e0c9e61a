"""`load_many --products N` makes thousands of products at once."""

import pytest
from pytest_django import DjangoAssertNumQueries

from bench.demo import long_lists
from bench.demo.long_lists import load_many
from shop.demo.loading import load_goods
from shop.models import Product, SearchEntry, StockChange, Variant

pytestmark = pytest.mark.django_db


def test_many_products_are_made_in_bulk_and_those_that_were_deleted_are_made_up_for(
    django_assert_max_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_lists, "BATCH_SIZE", 100)
    load_goods()
    with django_assert_max_num_queries(60):
        assert load_many(150) == 150
    assert load_many(150) == 0
    assert SearchEntry.objects.filter(product__slug__startswith="many-").count() == 150
    assert Variant.objects.filter(sku__startswith="MANY-", available=0).count() == 15
    assert StockChange.objects.filter(variant__sku__startswith="MANY-").count() == 135
    # Those without units can be deleted: the journal has no line of them.
    Product.objects.filter(slug__in=["many-0", "many-10"]).delete()
    assert load_many(151) == 3
    many = Product.objects.filter(slug__startswith="many-").order_by("pk")
    assert list(many.values_list("slug", flat=True))[-3:] == ["many-150", "many-151", "many-152"]
    assert many.count() == 151
