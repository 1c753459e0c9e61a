"""All keys of an item are in one slot, so every verb runs on a node of a Cluster."""

import time
from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

import pytest
from redis.crc import key_slot
from redis.exceptions import ResponseError

from seckill import ledger
from seckill.items import item_state
from seckill.ledger_words import Adjusted, Confirmed, Published, Released, ReleaseReason, RestoreAs, Restored
from seckill.outbox import dead_letters, outbox
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.keys import keys_of
from shop.local.ports import free_port
from tests.own_store import OwnStore, as_reservation_store, running
from tests.seckill.checked_item import ITEM_ID, CheckedItem

START_SECONDS = 20.0


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    """A Cluster of one node, which has all slots."""
    # The default port between nodes is 10,000 higher, in the range that the kernel uses for outgoing connections.
    options = {"appendonly": "no", "cluster_enabled": "yes", "cluster_port": str(free_port())}
    with running(tmp_path_factory.mktemp("node"), **options) as store:
        store.client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        deadline = time.monotonic() + START_SECONDS
        while store.client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield store


@pytest.fixture
def item_in_cluster(node: OwnStore) -> Iterator[CheckedItem]:
    with as_reservation_store(node):
        yield CheckedItem(node)


@pytest.mark.parametrize("item_id", [1, 42, 10**14])
def test_the_keys_of_an_item_share_a_slot(item_id: int) -> None:
    assert len({key_slot(key.encode()) for key in astuple(keys_of(item_id))}) == 1


def test_the_keys_of_different_items_are_spread() -> None:
    assert len({key_slot(keys_of(item_id).item.encode()) for item_id in range(1, 101)}) > 50


def test_every_verb_runs_on_a_node_of_a_cluster(item_in_cluster: CheckedItem) -> None:
    item = item_in_cluster
    assert item.publish() == Published.PUBLISHED
    first, second = item.held(), item.held()
    assert item.reserve(first).outcome == Outcome.ALREADY_RESERVED
    assert ledger.confirm(item_id=ITEM_ID, reservation_ids=[first, second]) == [Confirmed.CONFIRMED] * 2
    assert item.release(second, ReleaseReason.REFUNDED) == Released.RELEASED
    good, bad = outbox.read_batch(item_id=ITEM_ID, count_max=10)
    outbox.acknowledge(item_id=ITEM_ID, entry_ids=[good.id])
    outbox.move_to_dead_letters(item_id=ITEM_ID, entry=bad, error="no such buyer")
    (letter,) = dead_letters.read(item_ids=[ITEM_ID], count_max=10)[ITEM_ID]
    assert (letter.error, letter.fields["reservation"]) == ("no such buyer", str(second))
    dead_letters.remove(item_id=ITEM_ID, letter_id=letter.id)
    assert dead_letters.find(item_id=ITEM_ID, letter_id=letter.id) is None
    assert item.entries() == []
    counters: Any = ledger.read(item_id=ITEM_ID)
    assert (counters.left, counters.held, counters.sold) == (4, 0, 1)
    item.guarded = False
    assert item.adjust(units=2, state="paused").word == Adjusted.ADJUSTED
    assert item.restore(second, state=RestoreAs.LATE_PAYMENT) == Restored.RESTORED
    assert item.counters() == ("5", "0", "2")
    assert item_state.conditions(item_ids=[ITEM_ID]) == {ITEM_ID: item_state.Condition.VERIFIED}


def test_a_cluster_node_refuses_keys_of_different_slots(item_in_cluster: CheckedItem) -> None:
    item_in_cluster.publish()
    keys = [keys_of(ITEM_ID).item, keys_of(ITEM_ID).buyers, keys_of(43).holds]
    with pytest.raises(ResponseError, match="slot"):
        scripts.RELEASE.run(item_in_cluster.client, keys=keys, args=["some", "expired", ""])
