"""A rehearsal of a sale: real processes answer simulated buyers, and afterwards nothing of it is anywhere."""

import os
import subprocess
import sys
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Model

from orders.models import Mail, Order, Rehearsal
from seckill.models import SaleChange, SaleItem
from shop.models import Product, StockChange
from tests.live_shop import environment
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

ROWS: tuple[type[Model], ...] = (Order, Mail, SaleChange, StockChange, User, SaleItem)


@pytest.fixture
def coming(product: Product) -> SaleItem:
    return make_item(product, quantity=40, opens_in_seconds=7200, closes_in_seconds=9000)


def counts() -> dict[str, int]:
    return {model.__name__: model._default_manager.count() for model in ROWS}


def sale_rehearsal(sale_id: int, url: str, *more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", "sale_rehearsal", str(sale_id), "--buyers", "200", *more],
        env={**os.environ, **environment(), "REHEARSALS": "1", "SHOP_URL": url},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("published", [True, False], ids=["published", "draft"])
def test_a_running_shop_is_rehearsed_from_end_to_end(
    product: Product, live_shop: str, store: Any, published: bool
) -> None:
    item = make_item(product, quantity=40, opens_in_seconds=7200, closes_in_seconds=9000, published=published)
    before, keys = counts(), set(store.keys("*"))

    done = sale_rehearsal(item.sale_id, live_shop)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 buyers heard yes, for 40 units: never one too many." in done.stdout
    assert "All 20 units that were not paid for came back" in done.stdout
    assert "20 late buyers asked" in done.stdout
    report = Rehearsal.objects.get(sale=item.sale).report
    assert (report["buyers"], report["yes"], report["failed"], report["waiting"]) == (200, 40, 0, 0)
    assert sum(sum(step) for step in report["steps"]) == 200
    # Nothing of it is left anywhere.
    assert counts() == before
    assert set(store.keys("*")) == keys
