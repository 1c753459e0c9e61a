"""The demo goods in the catalogue: complete, safe to load twice, with their pictures; and long lists."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from PIL import Image
from pytest_django import DjangoAssertNumQueries

from shop.demo import loading
from shop.demo.assortment import CATEGORIES, PRODUCTS, VARIANTS
from shop.demo.long_lists import load_many
from shop.models import Category, Picture, Product, SearchEntry, StockChange, Variant

pytestmark = pytest.mark.django_db


def test_the_goods_are_loaded_once_and_a_managers_changes_stay() -> None:
    loading.load_goods()
    assert Category.objects.count() == len(CATEGORIES)
    assert Product.objects.count() == SearchEntry.objects.filter(is_visible=True).count() == len(PRODUCTS)
    stock = {variant["sku"]: int(variant["stock"]) for variant in VARIANTS}
    assert dict(Variant.objects.values_list("sku", "available")) == stock
    Product.objects.filter(slug="gaiwan").update(is_active=False)
    entries = StockChange.objects.count()
    loading.load_goods()
    assert not Product.objects.get(slug="gaiwan").is_active
    assert StockChange.objects.count() == entries


def test_pictures_are_drawn_some_at_a_time_and_once(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = str(tmp_path)
    monkeypatch.setattr(loading, "PRODUCTS", PRODUCTS[:3])
    monkeypatch.setattr(loading, "PRODUCTS_AT_ONCE", 2)
    loading.load_goods()
    first = loading.draw_some_pictures()
    assert first == sum(len(loading.pictures_of(product)) for product in PRODUCTS[:2])
    assert loading.load_pictures() == len(loading.pictures_of(PRODUCTS[2]))
    assert loading.load_pictures() == 0
    picture = Picture.objects.first()
    assert picture is not None
    assert picture.alt
    with Image.open(tmp_path / picture.large.name) as drawn:
        assert drawn.size == (1200, 1200)


def test_many_products_are_made_in_bulk_and_can_be_found(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    loading.load_goods()
    with django_assert_max_num_queries(60):
        assert load_many(1_500) == 1_500
    assert load_many(1_500) == 0
    assert SearchEntry.objects.filter(product__slug__startswith="many-").count() == 1_500
    assert Variant.objects.filter(sku__startswith="MANY-", available=0).count() == 150
    assert StockChange.objects.filter(variant__sku__startswith="MANY-").count() == 1_350


def test_the_command_refuses_a_number_of_products_that_is_none() -> None:
    with pytest.raises(Exception, match="many is not a whole number from 0 to 100000"):
        call_command("load_demo", "--products", "many")
