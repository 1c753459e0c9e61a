"""`load_many --products N` makes thousands of products at once."""

import pytest
from django.core.management import call_command
from pytest_django import DjangoAssertNumQueries

from bench.demo.long_lists import load_many
from shop.demo.loading import load_goods
from shop.models import Product, SearchEntry, StockChange, Variant

pytestmark = pytest.mark.django_db


def test_many_products_are_made_in_bulk_and_can_be_found(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    load_goods()
    with django_assert_max_num_queries(60):
        assert load_many(1_500) == 1_500
    assert load_many(1_500) == 0
    assert SearchEntry.objects.filter(product__slug__startswith="many-").count() == 1_500
    assert Variant.objects.filter(sku__startswith="MANY-", available=0).count() == 150
    assert StockChange.objects.filter(variant__sku__startswith="MANY-").count() == 1_350


def test_products_that_were_deleted_are_made_up_for_under_new_numbers() -> None:
    load_goods()
    load_many(12)
    # Those without units can be deleted: the journal has no line of them.
    Product.objects.filter(slug__in=["many-0", "many-10"]).delete()
    assert load_many(13) == 3
    many = Product.objects.filter(slug__startswith="many-").order_by("pk")
    assert list(many.values_list("slug", flat=True))[-3:] == ["many-12", "many-13", "many-14"]
    assert many.count() == 13


def test_the_command_refuses_a_number_of_products_that_is_none() -> None:
    with pytest.raises(Exception, match="many is not a whole number from 1 to 100000"):
        call_command("load_many", "--products", "many")
