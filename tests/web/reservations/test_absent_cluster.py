"""A Cluster of which no node answers never makes the event loop wait, and is found when it comes."""

import socket
import time
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import override_settings

from seckill.items.loop import for_each_item
from seckill.store.client import StoreUnreachable, ask_each, reservation_servers, server_of
from seckill.store.cluster import FIRST_MAP_SECONDS, ClusterNodes
from shop.configuration.store_clients import redis_cache
from shop.local.stores.cluster_store import ClusterStore
from tests.own_store import as_reservation_store
from tests.processes import wait_until
from web.reservations.snapshots import Snapshots

ITEM_IDS = range(1, 13)
# A call that waits takes FIRST_MAP_SECONDS.
NO_TIME_SECONDS = FIRST_MAP_SECONDS


@pytest.fixture
def _absent_cluster() -> Iterator[None]:
    """A node that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis+cluster://127.0.0.1:{silent.getsockname()[1]}"
        caches = {**settings.CACHES, "seckill": redis_cache(url, timeout_seconds=0.9)}
        with override_settings(CACHES=caches):
            yield
            servers = reservation_servers()
            assert isinstance(servers, ClusterNodes)
            servers.close()


@pytest.mark.usefixtures("_absent_cluster")
def test_the_gate_does_not_wait_for_a_cluster_that_is_away() -> None:
    snapshots = Snapshots()
    started_s = time.monotonic()
    for item_id in ITEM_IDS:
        assert server_of(item_id) is None
        snapshots.watch(item_id)
        assert snapshots.find(item_id) is None
    assert time.monotonic() - started_s < NO_TIME_SECONDS
    wait_until(lambda: all(snapshots.find(item_id) is not None for item_id in ITEM_IDS), seconds_max=20)


@pytest.mark.slow
@pytest.mark.usefixtures("_absent_cluster")
def test_work_on_many_items_waits_once() -> None:
    def step(item_id: int) -> None:
        raise StoreUnreachable

    started_s = time.monotonic()
    with pytest.raises(StoreUnreachable):
        ask_each(lambda client, item_ids: dict.fromkeys(item_ids), item_ids=ITEM_IDS)
    with pytest.raises(StoreUnreachable):
        for_each_item(step, item_ids=ITEM_IDS, event="test")
    assert time.monotonic() - started_s < 5 * FIRST_MAP_SECONDS


def test_the_first_call_of_a_process_for_many_items_finds_each_server(cluster_store: ClusterStore) -> None:
    with as_reservation_store(cluster_store):
        found = ask_each(lambda client, item_ids: dict.fromkeys(item_ids, len(item_ids)), item_ids=ITEM_IDS)
        assert set(found) == set(ITEM_IDS)
        # On three servers.
        assert max(found.values()) < len(ITEM_IDS)
