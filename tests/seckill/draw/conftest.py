"""The item of these tests is drawn."""

import pytest

from seckill.models import SaleItem
from shop.models import Product
from tests.steps.drawing import make_draw


@pytest.fixture
def item(product: Product) -> SaleItem:
    """Three units, at most two per buyer."""
    return make_draw(product, quantity=3, per_buyer_max=2)
