"""A reservation store that is a Cluster: items are on three primaries, and each is asked for its own.

The last tests kill a primary and let one hang: its items wait, all others are sold.
"""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from redis.crc import key_slot
from redis.exceptions import MovedError

from orders import tasks
from orders.life import intake
from orders.models import Order
from orders.repair.audit import audit
from seckill import ledger
from seckill.items import holdings, item_state
from seckill.ledger_words import Released, ReleaseReason
from seckill.line import line_ledger
from seckill.live.staff_figures import figures_of
from seckill.models import SaleItem
from seckill.outbox import outbox
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store import durability, scripts
from seckill.store.client import StoreUnreachable, reservation_servers, server_of
from seckill.store.cluster import ClusterNodes, slot_of
from seckill.store.failures import Cause
from seckill.store.keys import keys_of
from seckill.waiting_room.room_ledger import arrive
from seckill.waiting_room.standing import NotLetIn, why_not_let_in
from shop.local.stores.cluster_store import ClusterStore
from shop.local.stores.store_node import StoreNode
from shop.models import Product
from tests.own_store import as_reservation_store
from tests.processes import wait_until
from tests.seckill.store.items import ANSWER_SECONDS, of_one_server, reconciled, sale_of, told, web
from tests.steps.buying import reserve
from tests.steps.pipelines import frozen
from tests.steps.shop import make_item
from tests.steps.waiting import join
from web.reservations.snapshots import AWAY, Snapshot, Snapshots

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def items(cluster_store: ClusterStore) -> Iterator[list[SaleItem]]:
    """Twelve items, on all three primaries."""
    with as_reservation_store(cluster_store):
        found = sale_of(12)
        assert len({server_of(item.pk) for item in found}) == 3
        yield found


def node_of(store: ClusterStore, item: SaleItem) -> StoreNode:
    return store.primary(key=keys_of(item.pk).item)


def test_units_are_handed_on_wherever_their_item_is(
    cluster_store: ClusterStore, items: list[SaleItem], buyer: User
) -> None:
    here, there = of_one_server(items)
    for item in (here[0], there[0]):
        line_ledger.open_line(item_id=item.pk)
        withdraw = ledger.Adjustment(units=-49)
        ledger.adjust(item_id=item.pk, operation_id=uuid4(), adjustment=withdraw)
        held, place = reserve(item, buyer), join(item, User.objects.create(username=f"waits-{item.pk}"))
        then = line_ledger.handing_on(item.pk)
        reason = ReleaseReason.EXPIRED
        assert ledger.release(item_id=item.pk, reservation_ids=[held], reason=reason, then=then) == [Released.RELEASED]
        assert holdings.find_hold(item_id=item.pk, reservation_id=place) is not None
    # An atom that was sent to another node hears where its item is.
    keys = keys_of(there[0].pk)
    calls = [([keys.item, keys.buyers, keys.holds], ["x", "expired", ""])]
    with node_of(cluster_store, here[0]).client() as other:
        scripts.load(other)
        with pytest.raises(MovedError):
            scripts.RELEASE.run_many(other, calls, then=line_ledger.handing_on(there[0].pk))


def test_items_are_sold_and_become_orders_wherever_they_are(items: list[SaleItem]) -> None:
    for item in items:
        assert [told(item), told(item)] == [Outcome.RESERVED] * 2
    ids = [item.pk for item in items]
    assert outbox.backlogs(item_ids=ids) == dict.fromkeys(ids, 2)
    counters = ledger.read_many(item_ids=ids)
    assert {pk: found and found.held for pk, found in counters.items()} == dict.fromkeys(ids, 2)
    assert tasks.sweep_outboxes() == 24
    assert Order.objects.count() == 24
    assert {waiting.entries for waiting in outbox.waiting(item_ids=ids).values()} == {0}
    assert set(item_state.conditions(item_ids=ids).values()) == {item_state.Condition.VERIFIED}
    buyer_id = Order.objects.filter(lines__sale_item=items[0]).values_list("buyer_id", flat=True)[0]
    assert holdings.units_of_buyer(item_ids=ids, buyer_id=buyer_id or 0) == {**dict.fromkeys(ids, 0), ids[0]: 1}
    for item in items:
        assert audit(item_id=item.pk, patience_seconds=3).comparison.problem_count == 0


def test_of_a_crowd_as_many_are_told_yes_as_there_are_units(cluster_store: ClusterStore) -> None:
    with as_reservation_store(cluster_store):
        items = sale_of(3, quantity=5)
        buyers = User.objects.bulk_create([User(username=f"crowd-{number}") for number in range(60)])

        def ask(number: int) -> Outcome:
            return told(items[number % 3], buyer_id=buyers[number].pk)

        with ThreadPoolExecutor(12) as threads:
            answers = list(threads.map(ask, range(60)))
        assert answers.count(Outcome.RESERVED) == 15
        for item in items:
            intake.drain_once(item_id=item.pk)
            assert SaleItem.objects.get(pk=item.pk).taken == 5


def test_an_item_whose_slot_moves_during_the_sale_goes_on_after_a_comparison(
    cluster_store: ClusterStore, items: list[SaleItem]
) -> None:
    item = items[0]
    assert told(item) == Outcome.RESERVED
    source = node_of(cluster_store, item)
    target = next(node for node in cluster_store.primaries() if node is not source)
    with source.client() as client, target.client() as other:
        slot, target_id = slot_of(item.pk), other.execute_command("CLUSTER", "MYID").decode()
        client.execute_command("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target_id)
    wait_until(lambda: node_of(cluster_store, item) is target, seconds_max=20)
    # The first call is led to the new node, which has not been compared with the orders.
    assert told(item) == Outcome.UNAVAILABLE
    wait_until(lambda: reconciled(item), seconds_max=20)
    assert told(item) == Outcome.RESERVED
    assert Order.objects.filter(lines__sale_item=item).count() == 1
    assert audit(item_id=item.pk, patience_seconds=3).comparison.problem_count == 0
    same, others = of_one_server(items)
    assert item in same
    assert {told(other) for other in others} == {Outcome.RESERVED}


def test_a_slot_without_a_node_stops_only_its_items(cluster_store: ClusterStore, items: list[SaleItem]) -> None:
    item, node = items[0], node_of(cluster_store, items[0])
    slot = slot_of(item.pk)
    for each in cluster_store.nodes:
        each.ask("CLUSTER", "DELSLOTS", str(slot))
    try:
        assert told(item) == Outcome.UNAVAILABLE
        assert {told(other) for other in items[1:]} == {Outcome.RESERVED}
        assert item.pk not in ledger.read_many(item_ids=[each.pk for each in items])
        # The items of the same node follow as soon as the map of the slots is read again.
        swept: list[int] = []

        def sweep() -> int:
            swept.append(tasks.sweep_outboxes())
            return sum(swept)

        wait_until(lambda: sweep() == 11, seconds_max=10)
    finally:
        for each in cluster_store.nodes:
            each.ask("CLUSTER", "SETSLOT", str(slot), "NODE", (node.ask("CLUSTER", "MYID") or b"").decode())
    wait_until(lambda: told(item) == Outcome.RESERVED, seconds_max=30)


def test_in_the_event_loop_an_item_on_its_way_is_not_known_and_then_followed(
    cluster_store: ClusterStore, items: list[SaleItem]
) -> None:
    """Of a slot whose keys move one by one, some of an item's keys are still here (TRYAGAIN), or none (ASK)."""
    item_id, missing_id = items[0].pk, 10_000_000
    assert web.reserve(item_id).outcome is Outcome.RESERVED
    node_of(cluster_store, items[0]).ask("DEL", keys_of(item_id).latest)
    with moving_slot(cluster_store, item_id=item_id):
        assert cause_for(item_id) is Cause.MOVING
    assert web.reserve(item_id, buyer_id=2).outcome is Outcome.RESERVED
    with moving_slot(cluster_store, item_id=missing_id) as (source, target, target_id):
        assert cause_for(missing_id) is Cause.MOVING
        for node in (target, source):
            node.ask("CLUSTER", "SETSLOT", str(slot_of(missing_id)), "NODE", target_id)
        before = calls_of_scripts(target)
        # MOVED: the other node is asked, and has no such item.
        assert web.reserve(missing_id).outcome is Outcome.UNAVAILABLE
        assert calls_of_scripts(target) > before


@contextmanager
def moving_slot(store: ClusterStore, *, item_id: int) -> Iterator[tuple[StoreNode, StoreNode, str]]:
    """From which node the slot of the item moves, to which one, and the id of that one."""
    slot, source = str(slot_of(item_id)), store.primary(key=keys_of(item_id).item)
    target = next(node for node in store.primaries() if node is not source)
    source_id, target_id = ((node.ask("CLUSTER", "MYID") or b"").decode() for node in (source, target))
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
    try:
        yield source, target, target_id
    finally:
        for node in (source, target):
            node.ask("CLUSTER", "SETSLOT", slot, "STABLE")


def cause_for(item_id: int) -> Cause:
    with pytest.raises(StoreUnreachable) as raised:
        web.reserve(item_id, buyer_id=2)
    return raised.value.cause


def calls_of_scripts(node: StoreNode) -> int:
    with node.client() as client:
        calls: int = client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)
    return calls


def test_a_move_that_the_map_lacks_waits_for_the_next_map_which_is_closed_at_once_though_others_go_on_asking(
    items: list[SaleItem],
) -> None:
    nodes, item = reservation_servers(), items[0]
    assert isinstance(nodes, ClusterNodes)
    client, slot = nodes.client_of(item.pk), slot_of(item.pk)
    cluster: Any = nodes._cluster
    del cluster.nodes_manager.slots_cache[slot]
    nodes.moved(MovedError(f"{slot} 127.0.0.1:{client.connection_pool.connection_kwargs['port']}"))
    wait_until(lambda: told(item) == Outcome.RESERVED, seconds_max=20)
    stopped = threading.Event()

    def ask_on() -> None:
        while not stopped.wait(0.001):
            nodes.client_of(item.pk)

    with ThreadPoolExecutor(2) as pool:
        asking = pool.submit(ask_on)
        try:
            pool.submit(nodes.close).result(timeout=10)
        finally:
            stopped.set()
        asking.result(timeout=10)
    assert told(item) == Outcome.RESERVED


def test_the_keys_of_an_item_share_its_slot_and_those_of_different_items_are_spread() -> None:
    for item_id in (1, 42, 10**14):
        assert {key_slot(key.encode()) for key in astuple(keys_of(item_id))} == {slot_of(item_id)}
    assert len({slot_of(item_id) for item_id in range(1, 101)}) > 50


def test_each_weak_node_is_named_and_a_waiting_room_is_on_one(cluster_store: ClusterStore, product: Product) -> None:
    with as_reservation_store(cluster_store):
        assert durability.weaknesses_of_store() == []
        item = make_item(product, opens_in_seconds=300, has_room=True)
        node = cluster_store.replica_of(node_of(cluster_store, item))
        with node.client() as client:
            client.config_set("appendfsync", "everysec")
            try:
                (weakness,) = durability.weaknesses_of_store()
            finally:
                client.config_set("appendfsync", "always")
        assert (weakness.setting, weakness.node) == ("appendfsync", f"127.0.0.1:{node.port}")
        assert f"127.0.0.1:{node.port}" in weakness.text
        assert "Set appendfsync always" in weakness.text
        tasks.move_waiting_rooms()
        assert arrive(sale_id=item.sale_id, account_id=7).number == 0
        assert why_not_let_in(sale_id=item.sale_id, account_id=7) is NotLetIn.PLACE_NOT_CALLED
        assert arrive(sale_id=item.sale_id, account_id=8).number == 1


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
