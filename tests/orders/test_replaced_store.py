"""A batch that was read from a store server which has been replaced: its units may be sold again, so it is not written.

Both servers are real: the second one replicates from the first, is promoted, and the first one does not know it.
"""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.db import connections

from orders.life import intake
from orders.models import Order, OrderStatus
from orders.repair import store_watch
from orders.repair.audit import audit
from orders.repair.store_watch import reconcile_if_needed
from orders.units.taken import accept_only
from seckill.items import item_state
from seckill.items.item_state import Condition
from seckill.models import SaleItem
from seckill.outbox import outbox
from seckill.outcomes import Outcome
from seckill.store.keys import keys_of
from shop.models import Product
from tests.own_store import OwnStore, as_reservation_store, running
from tests.processes import wait_until
from tests.steps.at_once import run_and_close
from tests.steps.buying import new_buyers, reserve, told
from tests.steps.operating import waiting_for_locks
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def former(tmp_path: Path) -> Iterator[OwnStore]:
    # It would wait five seconds for more replicas before it sends its data to the first.
    with running(tmp_path / "former", repl_diskless_sync_delay="0") as own_store:
        yield own_store


@pytest.fixture
def promoted(tmp_path: Path, former: OwnStore) -> Iterator[OwnStore]:
    """A replica of the other one until `promote`."""
    with running(tmp_path / "promoted") as own_store:
        own_store.client.config_set("masterauth", former.server.password)
        own_store.client.replicaof("127.0.0.1", former.server.port)
        yield own_store


@pytest.fixture
def item(former: OwnStore, promoted: OwnStore, product: Product, buyer: User) -> Iterator[SaleItem]:
    """Three units, of which one is in an order, on both servers. Then the replica is promoted."""
    with as_reservation_store(former):
        item = make_item(product, quantity=3)
        reserve(item, buyer)
        intake.drain_once(item_id=item.pk)
        wait_until(lambda: promoted.client.exists(keys_of(item.pk).holds) == 1, seconds_max=20)
        promoted.client.replicaof("NO", "ONE")
        yield item


@contextlib.contextmanager
def locked(item: SaleItem) -> Iterator[None]:
    """Another transaction, such as a large import, has the item's row."""
    blocker = connections["default"].copy()
    blocker.set_autocommit(False)
    try:
        with blocker.cursor() as cursor:
            cursor.execute("SELECT 1 FROM seckill_saleitem WHERE id = %s FOR UPDATE", [item.pk])
        yield
    finally:
        blocker.rollback()
        blocker.close()


def check_nobody_is_rejected(item: SaleItem) -> None:
    """Each buyer to whom the new server says yes gets an order, and both stores agree."""
    buyers = new_buyers(4)
    yes = [buyer.pk for buyer in buyers if told(item, buyer) is Outcome.RESERVED]
    intake.drain_all(item_id=item.pk)
    assert not Order.objects.filter(status=OrderStatus.REJECTED).exists()
    assert Order.objects.filter(buyer_id__in=yes).count() == len(yes)
    item.refresh_from_db()
    assert item.taken == 3
    assert audit(item_id=item.pk, patience_seconds=0).comparison.problem_count == 0


def test_a_promotion_between_read_and_commit(item: SaleItem, promoted: OwnStore) -> None:
    for buyer in new_buyers(2):
        reserve(item, buyer)
    take_in_batch = intake.take_in_batch

    def promote_first(**batch: Any) -> None:
        with as_reservation_store(promoted):
            reconcile_if_needed(item_ids=[item.pk])
            take_in_batch(**batch)

    with mock.patch.object(intake, "take_in_batch", promote_first):
        assert intake.drain_once(item_id=item.pk) == 0
    assert Order.objects.count() == 1
    with as_reservation_store(promoted):
        check_nobody_is_rejected(item)


def test_a_promotion_while_the_commit_waits_for_a_locked_row(item: SaleItem, promoted: OwnStore) -> None:
    for buyer in new_buyers(2):
        reserve(item, buyer)
    with ThreadPoolExecutor(2) as threads:
        with locked(item):
            draining = threads.submit(run_and_close(lambda: intake.drain_once(item_id=item.pk)))
            wait_until(lambda: waiting_for_locks() == 1, seconds_max=20)
            with as_reservation_store(promoted):
                reconciling = threads.submit(run_and_close(lambda: reconcile_if_needed(item_ids=[item.pk])))
                wait_until(lambda: reconciling.done() or waiting_for_locks() == 2, seconds_max=20)
        with as_reservation_store(promoted):
            draining.result()
            reconciling.result()
            reconcile_if_needed(item_ids=[item.pk])
            check_nobody_is_rejected(item)


def test_the_former_server_writes_no_orders_any_more(item: SaleItem, promoted: OwnStore) -> None:
    """A worker that does not see the new one goes on reading."""
    with as_reservation_store(promoted):
        reconcile_if_needed(item_ids=[item.pk])
    for buyer in new_buyers(2):
        reserve(item, buyer)
    assert intake.drain_once(item_id=item.pk) == 0
    assert Order.objects.count() == 1
    with as_reservation_store(promoted):
        check_nobody_is_rejected(item)


def test_a_server_that_postgresql_does_not_accept_is_compared_first(item: SaleItem, promoted: OwnStore) -> None:
    """The watch of a process that still sees the former one has named it; the next look finds that out."""
    with as_reservation_store(promoted):
        reconcile_if_needed(item_ids=[item.pk])
        SaleItem.objects.update(incarnation="of the former one")
        buyer, *_ = new_buyers(1)
        reserve(item, buyer)
        assert intake.drain_once(item_id=item.pk) == 0
        # Its buyers wait from then on, however long others take that are compared before it.
        with mock.patch.object(store_watch, "reconcile_if_free", return_value=None):
            reconcile_if_needed(item_ids=[item.pk])
        assert item_state.condition(item_id=item.pk) is Condition.UNVERIFIED
        (result,) = reconcile_if_needed(item_ids=[item.pk])
        assert result.collected == 1
        check_nobody_is_rejected(item)


def test_a_batch_of_a_server_that_is_accepted_at_that_moment_is_no_oversell(
    item: SaleItem, caplog: pytest.LogCaptureFixture
) -> None:
    incarnation = item_state.incarnation(item_id=item.pk)
    SaleItem.objects.update(incarnation="of the former one")
    buyer, *_ = new_buyers(1)
    reserve(item, buyer)
    again = intake.persist_with_surplus

    def accepted(**batch: Any) -> None:
        accept_only(item_id=item.pk, incarnation=incarnation)
        again(**batch)

    with mock.patch.object(intake, "persist_with_surplus", accepted):
        assert intake.drain_once(item_id=item.pk) == 1
    assert Order.objects.filter(buyer=buyer, status=OrderStatus.AWAITING_PAYMENT).exists()
    assert "oversell_refused_by_database" not in caplog.text


def test_orders_that_the_store_does_not_know_make_it_unverified(item: SaleItem, former: OwnStore) -> None:
    """Their entries were gone when they were acknowledged, and so were their holds."""
    buyer, *_ = new_buyers(1)
    reservation_id = reserve(item, buyer)
    entries = outbox.read_batch(item_id=item.pk, count_max=10)
    former.client.xdel(keys_of(item.pk).outbox, entries[0].id)
    former.client.hdel(keys_of(item.pk).holds, str(reservation_id))
    intake.take_in_batch(item_id=item.pk, entries=entries)
    assert told(item, buyer) is Outcome.UNAVAILABLE
    reconcile_if_needed(item_ids=[item.pk])
    check_nobody_is_rejected(item)


def test_entries_that_another_worker_has_acknowledged_are_no_loss(item: SaleItem) -> None:
    buyer, *_ = new_buyers(1)
    reserve(item, buyer)
    entries = outbox.read_batch(item_id=item.pk, count_max=10)
    for _ in range(2):
        intake.take_in_batch(item_id=item.pk, entries=entries)
    assert reconcile_if_needed(item_ids=[item.pk]) == []
