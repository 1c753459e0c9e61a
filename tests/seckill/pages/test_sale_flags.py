"""Cards in lists say that a product is in a flash sale, or will be, and at which price."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from seckill.models import Sale, SaleItem
from shop.models import Product, Variant
from shop.times import zone
from tests.steps.shop import make_item, make_product

pytestmark = pytest.mark.django_db

LISTS = ("/", "/products/", "/categories/tea/", "/search/?q=longjing")


def card_on(client: Client, address: str, name: str = "Longjing tea") -> str:
    """The words of the product's card."""
    page = client.get(address).content.decode()
    (card,) = [card for card in re.findall(r'<article class="product-card">.*?</article>', page, re.S) if name in card]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", card.split("</svg>")[-1])).split())


def flags_on(client: Client) -> int:
    return client.get("/products/").content.decode().count("product-flag")


def test_a_sale_that_runs_is_on_every_card_with_its_price(client: Client, product: Product) -> None:
    for address in LISTS:
        assert card_on(client, address) == "Longjing tea CN¥99.00", address
    make_item(product)
    for address in LISTS:
        assert card_on(client, address) == "Flash sale now Longjing tea CN¥99.00 CN¥19.00 in the sale", address
        assert "秒杀进行中 龙井茶 ¥99.00 秒杀价 ¥19.00" in card_on(client, f"/zh-hans{address}", "龙井茶"), address


def test_a_sale_that_comes_says_when_with_the_day_if_it_is_not_today(client: Client, product: Product) -> None:
    item = make_item(product, opens_in_seconds=3 * 24 * 3600, closes_in_seconds=4 * 24 * 3600)
    opening = zone.short_time(item.sale.opens_at, with_day=True)
    assert re.fullmatch(r"[A-Z][a-z]{2} \d{1,2} \d\d:\d\d \(UTC\)", opening)
    assert f"Flash sale from {opening} Longjing tea" in card_on(client, "/products/")
    noon = timezone.localtime().replace(hour=12, minute=0, second=0)
    if noon < timezone.now():
        noon = timezone.localtime().replace(hour=23, minute=59, second=59)
    Sale.objects.update(opens_at=noon)
    assert f"Flash sale from {noon:%H:%M} (UTC) Longjing tea" in card_on(client, "/products/")


def test_a_product_that_cannot_be_bought_in_a_sale_has_no_flag(client: Client, product: Product) -> None:
    item = make_item(product)
    assert flags_on(client) == 1
    SaleItem.objects.update(taken=5)
    assert flags_on(client) == 0
    SaleItem.objects.update(taken=4)
    assert flags_on(client) == 1
    for changes in ({"paused": True}, {"listed": False}, {"published_at": None}, {"closes_at": timezone.now()}):
        former = {name: getattr(item.sale, name) for name in changes}
        Sale.objects.update(**changes)
        assert flags_on(client) == 0, changes
        Sale.objects.update(**former)
    SaleItem.objects.update(quantity=None)
    assert flags_on(client) == 1


def test_of_several_sales_the_next_counts_and_of_its_variants_the_cheapest(client: Client, product: Product) -> None:
    later = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000, price_minor=100)
    first = make_item(product, price_minor=2500)
    large = Variant.objects.create(product=product, sku="LARGE", options="Large", price_minor=9900, position=1)
    SaleItem.objects.create(sale=first.sale, variant=large, price_minor=2000, quantity=3)
    card = card_on(client, "/products/")
    assert "Flash sale now" in card
    assert "CN¥20.00 in the sale · Large" in card
    SaleItem.objects.filter(sale=first.sale).update(taken=3, quantity=3)
    assert later.sale.opens_at - timezone.now() > timedelta(hours=1)
    assert "CN¥1.00 in the sale" in card_on(client, "/products/")


def test_the_number_of_queries_does_not_grow_with_the_flags(
    client: Client, product: Product, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(4):
        more = make_product(slug=f"p{number}", name=f"Tea {number}", price_minor=9900, category=product.category)
        item = make_item(more, published=False)
        for other in range(2):
            variant = Variant.objects.create(product=more, sku=f"V-{number}-{other}", price_minor=9900)
            SaleItem.objects.create(sale=item.sale, variant=variant, price_minor=1000, quantity=5)
    Sale.objects.update(published_at=timezone.now())
    with django_assert_num_queries(6):
        assert flags_on(client) == 4
