"""Where a product is bought at its ordinary price, a flash sale that has it for less is named first."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from seckill import ledger
from seckill.models import Sale, SaleItem
from shop.models import Product, Variant
from tests.steps.buying import add_to_cart, reserve
from tests.steps.drawing import make_draw, opening_passes
from tests.steps.shop import make_item, text_of
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)

PRODUCT = "/products/longjing/"


def offers_in(text: str) -> list[dict[str, Any]]:
    (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.DOTALL)
    offers: list[dict[str, Any]] = json.loads(block)["offers"]
    return offers


def test_the_sale_comes_first_with_what_is_left_and_the_ordinary_price_second(client: Client, item: SaleItem) -> None:
    text = text_of(client, PRODUCT)
    words = (
        "CN¥19.00",
        "5 of 5 left",
        "Buy in the flash sale",
        "At the ordinary price",
        "CN¥99.00</strong>",
        "Add to cart",
    )
    places = [text.index(it) for it in words]
    assert places == sorted(places)
    assert f'href="{item.sale.get_absolute_url()}#item-{item.pk}"' in text
    assert '<button class="button second" data-add>' in text
    chinese = text_of(client, f"/zh-hans{PRODUCT}")
    assert chinese.index("去秒杀购买") < chinese.index("按原价购买")
    assert "−80%" in text
    assert "2折" in chinese


def test_a_sale_that_comes_tomorrow_leads_and_a_sold_out_one_does_not(client: Client, product: Product) -> None:
    item = make_item(product, quantity=1, opens_in_seconds=3600, closes_in_seconds=7200)
    assert "At the ordinary price" in text_of(client, PRODUCT)
    Sale.objects.all().delete()
    item = make_item(product, quantity=1)
    SaleItem.objects.filter(pk=item.pk).update(taken=1)
    reserve(item, User.objects.create(username="first"))
    assert "At the ordinary price" in text_of(client, PRODUCT), "the unit may come back"
    Sale.objects.update(listed=False)
    text = text_of(client, PRODUCT)
    assert "At the ordinary price" not in text
    assert '<button class="button" data-add>' in text


def test_search_engines_get_the_offer_of_the_sale_and_hear_sold_out_only_of_what_is_sold_out(
    client: Client, product: Product, buyer: User, settings: LazySettings
) -> None:
    item = make_item(product, quantity=1)
    former = store_away(settings)
    assert "availability" not in offers_in(text_of(client, PRODUCT))[1]
    settings.CACHES = former
    ordinary, offer = offers_in(text_of(client, PRODUCT))
    assert (ordinary["price"], offer["price"], offer["priceCurrency"]) == ("99.00", "19.00", "CNY")
    assert (offer["availability"], offer["priceValidUntil"]) == ("InStock", item.sale.closes_at.isoformat())
    assert offer["url"].endswith(f"{item.sale.get_absolute_url()}#item-{item.pk}")
    ledger.confirm(item_id=item.pk, reservation_ids=[reserve(item, buyer)])
    assert offers_in(text_of(client, PRODUCT))[1]["availability"] == "SoldOut"
    # Before the opening that is known without the store.
    Sale.objects.update(opens_at=timezone.now() + timedelta(minutes=30))
    store_away(settings)
    assert offers_in(text_of(client, PRODUCT))[1]["availability"] == "PreOrder"


def test_the_sales_of_a_product_take_one_query(
    client: Client, item: SaleItem, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(3):
        variant = Variant.objects.create(product=item.product, sku=f"V{number}", price_minor=9900, available=5)
        SaleItem.objects.create(sale=item.sale, variant=variant, price_minor=1000, quantity=5)
    text_of(client, PRODUCT)
    with django_assert_num_queries(5):
        text_of(client, PRODUCT)


def test_the_cart_and_the_checkout_say_that_it_costs_less_in_the_sale_to_buyers_who_may_have_it(
    client: Client, item: SaleItem, buyer: User
) -> None:
    client.force_login(buyer)
    add_to_cart(client, "longjing")
    for path in ("/cart/", "/checkout/"):
        text = text_of(client, path)
        assert "costs CN¥19.00 in a flash sale that is open now, instead of CN¥99.00." in " ".join(text.split())
        assert f'href="{item.sale.get_absolute_url()}#item-{item.pk}"' in text
    Sale.objects.update(listed=False)
    assert "in a flash sale" not in text_of(client, "/cart/")
    Sale.objects.update(listed=True)
    reserve(item, buyer)
    assert "in a flash sale" not in text_of(client, "/cart/")


def test_a_draw_is_offered_until_it_opens_and_never_to_be_bought(client: Client, product: Product) -> None:
    # Given a product that costs less in a draw, and is in the visitor's cart
    item = make_draw(product)
    add_to_cart(client, "longjing")
    # While entries are taken, its page and the lists lead to the draw
    coming = text_of(client, PRODUCT)
    assert "Enter the draw" in coming
    assert "Entries close in" in coming
    assert "Buy in the flash sale" not in coming
    assert len(offers_in(coming)) == 1
    assert "Draw until" in text_of(client, "/products/")
    assert "抽签登记至" in text_of(client, "/zh-hans/products/")
    # When it has opened, then it is not mentioned where somebody buys
    opening_passes(item)
    for path in (PRODUCT, "/products/", "/cart/", "/checkout/"):
        text = text_of(client, path)
        assert "CN¥99.00" in text
        assert "CN¥19.00" not in text, path


def test_the_cards_of_a_sale_lead_to_the_product_if_the_shop_shows_it(client: Client, item: SaleItem) -> None:
    assert f'href="{PRODUCT}" class="product-card">' in text_of(client, "/")
    assert f'<a href="{PRODUCT}"' in text_of(client, item.sale.get_absolute_url())
    Product.objects.update(is_active=False)
    assert f'#item-{item.pk}" class="product-card">' in text_of(client, "/")
    assert f'<a href="{PRODUCT}"' not in text_of(client, item.sale.get_absolute_url())
