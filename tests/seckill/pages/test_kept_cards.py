"""Cards are kept in the memory of a process as long as nothing differs that they show."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.utils import timezone

from seckill.models import Sale, SaleItem
from shop.models import Picture, Product, Variant
from tests.steps.shop import add_picture, make_item

pytestmark = pytest.mark.django_db

LISTS = ("/products/", "/zh-hans/products/")
KEPT = caches["cards"]


@pytest.fixture
def item(product: Product, settings: Any, tmp_path: Path) -> SaleItem:
    """Of a sale that runs. The product has a picture, and another variant that is in no sale."""
    settings.MEDIA_ROOT = str(tmp_path)
    add_picture(product, alt="A cup of tea", position=2)
    item = make_item(product, opens_in_seconds=-3600)
    Variant.objects.create(product=product, sku="LARGE", options="Large", price_minor=9900, position=1, available=3)
    return item


def cards_on(client: Client) -> list[list[str]]:
    pages = [client.get(address).text for address in LISTS]
    return [re.findall(r'<article class="product-card">.*?</article>', page, re.S) for page in pages]


def opens_in(**time: float) -> Callable[[SaleItem], object]:
    def change(item: SaleItem) -> None:
        opens_at = timezone.now() + timedelta(**time)
        Sale.objects.update(opens_at=opens_at, closes_at=opens_at + timedelta(days=1))

    return change


def of_product(**fields: Any) -> Callable[[SaleItem], object]:
    return lambda item: Product.objects.update(**fields)


CHANGES: dict[str, Callable[[SaleItem], object]] = {
    "name": of_product(name_en="Longjing tea, 2026", name_zh_hans="龙井茶 2026"),
    "address": of_product(slug="longjing-2026"),
    "price": lambda item: Variant.objects.update(price_minor=9800),
    "prices": lambda item: Variant.objects.filter(sku="LARGE").update(price_minor=12_000),
    "picture": lambda item: add_picture(item.product, alt="A cup of tea", position=1),
    "words for the picture": lambda item: Picture.objects.update(alt_en="A pot of tea", alt_zh_hans="一壶茶"),
    "no picture": lambda item: Picture.objects.all().delete(),
    "price in the sale": lambda item: SaleItem.objects.update(price_minor=1800),
    "variant in the sale": lambda item: Variant.objects.filter(pk=item.variant_id).update(
        options_en="Small", options_zh_hans="小"
    ),
    "opens today or tomorrow": opens_in(minutes=20),
    "opens in three days": opens_in(days=3),
    "no sale": lambda item: Sale.objects.update(paused=True),
    "sold out": lambda item: Variant.objects.update(available=0),
}


def test_each_change_is_on_the_card_at_once(client: Client, item: SaleItem) -> None:
    before = cards_on(client)
    for what, change in CHANGES.items():
        change(item)
        after = cards_on(client)
        KEPT.clear()
        assert after == cards_on(client), what
        for former, present in zip(before, after, strict=True):
            assert former != present, what
        before = after


def test_a_card_that_shows_the_same_is_not_rendered_again(client: Client, item: SaleItem) -> None:
    def rendered(address: str) -> int:
        return [each.name for each in client.get(address).templates].count("shop/catalogue/_card.html")

    assert [rendered(address) for address in LISTS] == [1, 1]
    assert [rendered(address) for address in LISTS] == [0, 0]
    assert rendered("/categories/tea/") == rendered("/search/?q=longjing") == 0
    Variant.objects.update(available=2)
    assert rendered("/products/") == 0
    Product.objects.update(name_en="Another tea")
    assert rendered("/products/") == 1
