"""Buyers tell two variants of one product apart: on the cards of a sale, on its page, and in what is read out."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from seckill.models import SaleItem
from seckill.publication import publish_sale
from shop.models import Product, Variant
from tests.steps.shop import make_item, text_of

pytestmark = pytest.mark.django_db(transaction=True)

SMALL, LARGE = "Longjing tea · 100 g", "Longjing tea · 250 g"


@pytest.fixture
def items(product: Product) -> list[SaleItem]:
    small = make_item(product, published=False)
    Variant.objects.update(options_en="100 g")
    large = Variant.objects.create(product=product, sku="TEA-250", options_en="250 g", price_minor=19900, available=9)
    SaleItem.objects.create(sale=small.sale, variant=large, price_minor=3900, quantity=5)
    publish_sale(sale_id=small.sale_id)
    return list(small.sale.items.order_by("pk"))


def test_the_cards_of_the_home_page_name_the_variant(client: Client, items: list[SaleItem]) -> None:
    text = text_of(client, "/")
    assert [text.count(f'"product-name">{name}<') for name in (SMALL, LARGE)] == [1, 1]


def test_the_page_of_the_sale_names_it_to_scripts_to_screen_readers_and_to_who_shares_the_link(
    client: Client, items: list[SaleItem]
) -> None:
    text = text_of(client, items[0].sale.get_absolute_url())
    # What the page says after a press: "Reserved for you: 1 × …".
    assert [text.count(f'data-name="{name}"') for name in (SMALL, LARGE)] == [1, 1]
    assert f'content="{SMALL} CN¥19.00 · {LARGE} CN¥39.00"' in text
    # The name of the button's item has the options in it.
    named = text.partition(f'id="item-{items[1].pk}-name"')[2].partition("</div>")[0]
    assert "Longjing tea" in named
    assert "250 g" in named


def test_the_page_without_scripts_names_it_in_its_title(client: Client, items: list[SaleItem], buyer: User) -> None:
    client.force_login(buyer)
    assert f"<title>{LARGE} ·" in text_of(client, f"/sale-items/{items[1].pk}/reserve/")
