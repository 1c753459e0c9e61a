"""The demo goods in the catalogue: complete, safe to load twice, with their pictures."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from shop.demo import drawings, loading
from shop.demo.assortment import CATEGORIES, PRODUCTS, VARIANTS
from shop.models import Category, Picture, Product, SearchEntry, StockChange, Variant

pytestmark = pytest.mark.django_db


def load_only(products: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the demo had no others; tests/shop/search loads all of them."""
    slugs = [row["slug"] for row in products]
    for module in (loading, drawings):
        monkeypatch.setattr(module, "PRODUCTS", products)
    monkeypatch.setattr(loading, "VARIANTS", [row for row in VARIANTS if row["product"] in slugs])
    loading.load_goods()


def test_the_goods_are_loaded_once_and_a_managers_changes_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    load_only(PRODUCTS[:4], monkeypatch)
    assert Category.objects.count() == len(CATEGORIES)
    assert Product.objects.count() == SearchEntry.objects.filter(is_visible=True).count() == 4
    slugs = [row["slug"] for row in PRODUCTS[:4]]
    stock = {variant["sku"]: int(variant["stock"]) for variant in VARIANTS if variant["product"] in slugs}
    assert dict(Variant.objects.values_list("sku", "available")) == stock
    entries = StockChange.objects.count()
    Product.objects.filter(slug=slugs[0]).update(is_active=False)
    loading.load_goods()
    assert not Product.objects.get(slug=slugs[0]).is_active
    assert StockChange.objects.count() == entries


def test_a_product_that_staff_gave_another_slug_or_whose_sku_is_elsewhere_is_not_loaded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load_only(PRODUCTS[:2], monkeypatch)
    # Given a product with another slug and other prices, and one that was deleted but for a SKU
    slugs = [row["slug"] for row in PRODUCTS[:2]]
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
    load_only([row for row in PRODUCTS if len(drawings.pictures_of(row)) == 1][:2], monkeypatch)
    monkeypatch.setattr(drawings, "PRODUCTS_AT_ONCE", 1)
    assert (drawings.draw_some_pictures(), drawings.load_pictures()) == (1, 1)
    assert drawings.load_pictures() == 0
    picture = Picture.objects.first()
    assert picture is not None
    assert picture.alt
    with Image.open(tmp_path / picture.large.name) as drawn:
        assert drawn.size == (1200, 1200)
