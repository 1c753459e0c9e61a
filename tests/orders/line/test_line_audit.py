"""The audit knows the waiting list: units that lie idle, and a line whose parts differ."""

import pytest
from django.contrib.auth.models import User
from django_redis import get_redis_connection

from orders.repair import audit as audits
from orders.repair.audit import audit
from orders.repair.reconcile import reconcile
from seckill.line import line_ledger
from seckill.line.waiting_list import sweep_lines
from seckill.models import SaleChange, SaleItem
from seckill.store.keys import keys_of
from shop.models import Product
from tests.steps.buying import order_of
from tests.steps.shop import make_item
from tests.steps.staff import change
from tests.steps.waiting import join

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def item(product: Product, buyer: User, monkeypatch: pytest.MonkeyPatch) -> SaleItem:
    """One unit that is bought, and a waiting list."""
    monkeypatch.setattr(audits, "PAUSE_SECONDS", 0.0)
    item = make_item(product, quantity=1, per_buyer_max=2, waiting_list=True)
    sweep_lines()
    order_of(item, buyer)
    return item


def problems(item: SaleItem) -> set[str]:
    return audit(item_id=item.pk).comparison.mismatched_totals


@pytest.mark.parametrize(("units", "limit"), [(1, 2), (2, 1)])
def test_units_that_lie_idle_while_somebody_waits_are_a_problem_and_people_who_wait_are_none(
    item: SaleItem, rival: User, units: int, limit: int
) -> None:
    join(item, rival, units=units)
    change(item, SaleChange.Kind.UNITS_PER_BUYER, units=limit)
    assert problems(item) == set()
    store = get_redis_connection("seckill")
    store.hincrby(keys_of(item.pk).item, "left", 1)
    store.hincrby(keys_of(item.pk).item, "quantity", 1)
    SaleItem.objects.filter(pk=item.pk).update(quantity=2)
    assert problems(item) == {f"1 units are left, and somebody waits for {units}"}
    sweep_lines()
    assert not any("waits" in problem for problem in problems(item))


@pytest.mark.parametrize("key", ["line", "places"])
def test_a_part_of_the_line_that_was_lost_is_a_problem(item: SaleItem, rival: User, key: str) -> None:
    join(item, rival)
    get_redis_connection("seckill").delete(getattr(keys_of(item.pk), key))
    assert any("buyers" in problem for problem in problems(item))


def test_a_rebuilt_item_keeps_its_line_and_gives_newcomers_nothing_of_it(item: SaleItem, rival: User) -> None:
    join(item, rival)
    assert reconcile(item_id=item.pk, rebuild=True).rebuilt
    assert line_ledger.look(item_id=item.pk) == line_ledger.LineLook(1, 1, 1, 1)
    assert problems(item) == set()
