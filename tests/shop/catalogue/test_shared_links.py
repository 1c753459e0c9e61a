"""A shared address of a product or a sale has a title, a text and a picture in its language."""

import pytest
from django.conf import settings
from django.test import Client

from seckill.models import SaleItem
from tests.steps.shop import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def properties(text: str) -> dict[str, str]:
    parts = [part.split('"', 1) for part in text.split('<meta property="')[1:]]
    return {name: rest.split('content="')[1].split('">')[0] for name, rest in parts}


def test_a_shared_product_says_what_it_is(client: Client, item: SaleItem) -> None:
    path = f"/zh-hans/products/{item.product.slug}/"
    shared = properties(text_of(client, path))
    assert (shared["og:type"], shared["og:title"]) == ("product", "龙井茶")
    assert shared["og:url"] == f"{settings.SHOP_URL}{path}"


def test_a_shared_sale_says_what_it_sells_at_which_price(client: Client, item: SaleItem) -> None:
    shared = properties(text_of(client, f"/sales/{item.sale_id}/"))
    assert shared["og:title"] == "Spring sale"
    assert shared["og:description"] == "Longjing tea CN¥19.00"
