"""Staff, sales and expiring orders lock the stock in one order, and for a short time."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.life import lifecycle
from orders.models import Order
from orders.units import taken
from seckill.changes.journal import make_change
from seckill.models import SaleChange
from shop.models import Product, Variant
from shop.stock.movements import Kind, lock, move
from tests.steps.at_once import at_once
from tests.steps.buying import let_deadlines_pass, order_of, plain_order
from tests.steps.shop import PLENTY, goods, make_item, units_in, variant_of

pytestmark = pytest.mark.django_db(transaction=True)


def someone_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return bool(cursor.fetchone()[0])


def wait_until(happened: Callable[[], bool]) -> None:
    for _ in range(600):
        if happened():
            return
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.05)")
    raise AssertionError("it did not happen within 30 s")


def test_adding_units_to_a_sale_does_not_deadlock_with_orders_that_expire(
    product: Product, buyer: User, shop_manager: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch of expired orders has the sale's item and its variant; the manager takes the variant's units."""
    item, variant = make_item(product), variant_of(product)
    order_of(item, buyer)
    move(kind=Kind.HELD, units_of={variant.pk: 2})
    plain_order(variant, buyer, 2, 9900)
    let_deadlines_pass()
    statements: list[str] = []

    def give_back_and_wait(*, order_ids: Any) -> None:
        taken.give_back(order_ids=order_ids)
        statements.append("the item is locked")
        wait_until(someone_waits)

    monkeypatch.setattr(lifecycle, "give_back", give_back_and_wait)

    def add_units() -> str:
        wait_until(lambda: bool(statements))
        (change,) = make_change(
            kind=SaleChange.Kind.ADD_UNITS, item_id=item.pk, units=3, reason="more", made_by=shop_manager
        )
        return change.status

    assert at_once([lifecycle.expire_overdue, add_units]) == [2, "applied"]
    item.refresh_from_db()
    assert (item.quantity, item.taken) == (8, 0)
    assert units_in(variant) == (PLENTY - 5 - 3, 0, 0)


def test_a_batch_of_expired_orders_writes_each_variant_once(buyer: User) -> None:
    tea = goods("tea", units=100)

    def statements_to_expire(count: int) -> int:
        for _ in range(count):
            move(kind=Kind.HELD, units_of={tea.pk: 1})
            plain_order(tea, buyer, 1, 1000)
        let_deadlines_pass()
        with CaptureQueriesContext(connection) as statements:
            assert lifecycle.expire_overdue() == count
        return sum("shop_variant" in statement["sql"] for statement in statements)

    assert statements_to_expire(20) == statements_to_expire(2)
    assert units_in(tea) == (100, 0, 0)
    assert Order.objects.filter(status="expired").count() == 22
