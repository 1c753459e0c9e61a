"""The shop behind a PgBouncer in transaction mode, which forgets each session after each transaction."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.db import connection, connections

from orders import tasks
from orders.models import Order, OrderStatus
from orders.repair.reconcile import reconcile
from orders.staff.order_table import OrderLineTable
from seckill.items import item_state
from seckill.items.lock import LockLost, check_held, item_lock
from seckill.models import SaleChange, SaleItem
from seckill.outcomes import Outcome
from shop.models import Product
from tests.other_database import own_url
from tests.own_pooler import OwnPooler
from tests.steps.item_journey import ItemJourney

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def journey(item: SaleItem, store: Any) -> ItemJourney:
    class Store:
        client = store

    return ItemJourney(Store(), item)  # type: ignore[arg-type]


def test_the_pooler_keeps_no_session(pooler: OwnPooler) -> None:
    """So whatever passes here does not depend on one."""
    with connection.cursor() as cursor:
        cursor.execute("SET application_name = 'kept'")
        cursor.execute("SET statement_timeout = 12345")
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


def test_an_item_that_the_store_has_lost_is_rebuilt(pooler: OwnPooler, journey: ItemJourney) -> None:
    ordered, paid = journey.ordered(), journey.paid()
    journey.client.flushdb()
    assert tasks.watch_store() == 1
    assert journey.states() == {str(ordered): "held", str(paid): "sold"}
    assert reconcile(item_id=journey.item_id, rebuild=True).rebuilt
    assert journey.is_clean()
    assert tasks.audit_sales() == 0


def test_a_running_sale_is_changed(pooler: OwnPooler, journey: ItemJourney) -> None:
    journey.change(SaleChange.Kind.ADD_UNITS, units=3)
    journey.change(SaleChange.Kind.PAUSE)
    assert (journey.item()["quantity"], journey.item()["state"]) == ("8", "paused")
    assert journey.try_to_reserve() == Outcome.PAUSED
    journey.change(SaleChange.Kind.RESUME)
    assert journey.try_to_reserve() == Outcome.RESERVED


def test_a_table_of_orders_is_read_in_portions(pooler: OwnPooler, journey: ItemJourney) -> None:
    for _ in range(3):
        journey.paid()
    assert Order.objects.filter(status=OrderStatus.PAID).count() == 3
    assert len(OrderLineTable().export().dict) == 3


HOLDER = """
import sys
import django
django.setup()
from seckill.items.lock import item_lock
with item_lock(item_id=int(sys.argv[1])) as acquired:
    print(acquired, flush=True)
    sys.stdin.readline()
"""


def test_two_processes_exclude_each_other_from_an_item_and_not_from_another(pooler: OwnPooler) -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "shop.settings",
        "DATABASE_URL": pooler.url,
        "DIRECT_DATABASE_URL": own_url(),
    }
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, "7"],
        env=environment,
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        for item_id, is_free in ((7, False), (8, True)):
            with item_lock(item_id=item_id, wait=False) as acquired:
                assert acquired is is_free
                # Many transactions of others come between.
                assert Product.objects.count() == 0
                if acquired:
                    check_held(item_id=item_id)
        holder.kill()
        with item_lock(item_id=7, wait=20) as acquired:
            assert acquired
    finally:
        holder.kill()
        holder.communicate()


def test_a_lock_that_is_lost_with_its_connection_is_noticed(pooler: OwnPooler) -> None:
    with item_lock(item_id=7):
        check_held(item_id=7)
        connections["direct"].close()
        # A new connection works, and holds nothing.
        with pytest.raises(LockLost):
            check_held(item_id=7)


def test_a_rebuild_is_not_verified_after_its_lock_was_lost(pooler: OwnPooler, journey: ItemJourney) -> None:
    item_state.mark_unverified(item_id=journey.item_id)

    def lose(**_: Any) -> None:
        connections["direct"].close()

    with mock.patch("orders.repair.reconcile.finish_changes", lose), pytest.raises(LockLost):
        reconcile(item_id=journey.item_id)
    assert journey.try_to_reserve() == Outcome.UNAVAILABLE
    reconcile(item_id=journey.item_id)
    assert journey.try_to_reserve() == Outcome.RESERVED
