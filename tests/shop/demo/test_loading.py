"""The demo goods in the catalogue: complete, safe to load twice, with their pictures."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from shop.demo import drawings, loading
from shop.demo.assortment import CATEGORIES, PRODUCTS, VARIANTS
from shop.models import Category, Picture, Product, SearchEntry, StockChange, Variant

pytestmark = pytest.mark.django_db


@pytest.mark.slow
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


def test_a_product_that_staff_gave_another_slug_or_whose_sku_is_elsewhere_is_not_loaded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loading, "PRODUCTS", PRODUCTS[:2])
    slugs = [row["slug"] for row in PRODUCTS[:2]]
    monkeypatch.setattr(loading, "VARIANTS", [row for row in VARIANTS if row["product"] in slugs])
    loading.load_goods()
    # Given a product with another slug and other prices, and one that was deleted but for a SKU
    Product.objects.filter(slug=slugs[0]).update(slug="renamed")
    renamed = Product.objects.get(slug="renamed")
    renamed.variants.update(price_minor=1)
    moved = Variant.objects.filter(product__slug=slugs[1])[0]
    Variant.objects.filter(pk=moved.pk).update(product=renamed)
    Product.objects.get(slug=slugs[1]).delete()
    there = list(Variant.objects.order_by("pk").values_list("pk", "product", "price_minor", "available"))
    # When the goods are loaded again, then all stays as it is
    loading.load_goods()
    assert Product.objects.get() == renamed
    assert list(Variant.objects.order_by("pk").values_list("pk", "product", "price_minor", "available")) == there


@pytest.mark.slow
def test_pictures_are_drawn_some_at_a_time_and_once(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = str(tmp_path)
    with_one_picture = [row for row in PRODUCTS if len(drawings.pictures_of(row)) == 1][:2]
    for module in (loading, drawings):
        monkeypatch.setattr(module, "PRODUCTS", with_one_picture)
    monkeypatch.setattr(drawings, "PRODUCTS_AT_ONCE", 1)
    loading.load_goods()
    assert (drawings.draw_some_pictures(), drawings.load_pictures()) == (1, 1)
    assert drawings.load_pictures() == 0
    picture = Picture.objects.first()
    assert picture is not None
    assert picture.alt
    with Image.open(tmp_path / picture.large.name) as drawn:
        assert drawn.size == (1200, 1200)
