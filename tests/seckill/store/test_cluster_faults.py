"""A Cluster that loses a primary, or of which one hangs: its items wait, all others are sold."""

import time
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from orders import tasks
from orders.repair.audit import audit
from seckill import ledger
from seckill.live.staff_figures import figures_of
from seckill.models import SaleItem
from seckill.outbox import outbox
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store import durability
from seckill.store.keys import keys_of
from shop.local.stores.cluster_store import ClusterStore
from tests.own_store import as_reservation_store
from tests.processes import wait_until
from tests.seckill.store.items import ANSWER_SECONDS, of_one_server, reconciled, sale_of, told
from tests.steps.pipelines import frozen
from web.reservations.snapshots import AWAY, Snapshot, Snapshots

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def items(cluster_store: ClusterStore) -> Iterator[list[SaleItem]]:
    with as_reservation_store(cluster_store):
        yield sale_of(9)


def assert_is_away_for_these_alone(same: list[SaleItem], others: list[SaleItem]) -> None:
    """And nobody waits for long."""
    began_s = time.monotonic()
    assert told(same[0]) == Outcome.UNAVAILABLE
    assert time.monotonic() - began_s < ANSWER_SECONDS
    assert {told(item) for item in others} == {Outcome.RESERVED}


def test_a_primary_is_killed_and_its_replica_takes_over(
    cluster_store: ClusterStore, items: list[SaleItem], buyer: User
) -> None:
    same, others = of_one_server(items)
    kept = passes.new_reservation_id(same[0].pk)
    assert {told(item) for item in items} == {Outcome.RESERVED}
    assert told(same[0], reservation_id=kept, buyer_id=buyer.pk) == Outcome.RESERVED
    node = cluster_store.primary(key=keys_of(same[0].pk).item)
    cluster_store.kill(node)
    try:
        assert_is_away_for_these_alone(same, others)
        assert set(outbox.backlogs(item_ids=[item.pk for item in items])) == {item.pk for item in others}
        wait_until(lambda: reconciled(same[0]), seconds_max=60)
        assert told(same[0], reservation_id=kept, buyer_id=buyer.pk) == Outcome.ALREADY_RESERVED
        assert told(same[0]) == Outcome.RESERVED
    finally:
        cluster_store.restart(node)
    tasks.sweep_outboxes()
    for item in items:
        assert audit(item_id=item.pk, patience_seconds=3).comparison.problem_count == 0


def test_a_primary_that_hangs_costs_its_buyers_one_time_limit_and_others_nothing(
    cluster_store: ClusterStore, items: list[SaleItem]
) -> None:
    same, others = of_one_server(items)
    snapshots = Snapshots()
    for item in items:
        snapshots.watch(item.pk)
    wait_until(lambda: all(isinstance(snapshots.find(item.pk), Snapshot) for item in items), seconds_max=10)
    node = cluster_store.primary(key=keys_of(same[0].pk).item)
    with frozen(node):
        assert_is_away_for_these_alone(same, others)
        wait_until(lambda: snapshots.find(same[0].pk) is AWAY, seconds_max=10)
        wait_until(lambda: all(isinstance(snapshots.find(item.pk), Snapshot) for item in others), seconds_max=10)
        found = ledger.read_many(item_ids=[item.pk for item in items])
        assert {item.pk for item in others} <= found.keys()
        notes = {figures.item.pk: figures.note for figures in figures_of(items)}
        assert {notes[item.pk] for item in others} == {""}
        assert notes[same[0].pk] == "reservation store not reachable" or same[0].pk in found
        assert any(weakness.setting == "unreachable" for weakness in durability.weaknesses_of_store())
    # It may have been replaced meanwhile.
    wait_until(lambda: all(reconciled(item) for item in same), seconds_max=60)
    wait_until(lambda: isinstance(snapshots.find(same[0].pk), Snapshot), seconds_max=10)
    assert told(same[0]) == Outcome.RESERVED
