"""The threads that read items for the gate end with the servers that they read."""

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from seckill import ledger
from seckill.ledger import Terms
from shop.times.timestamps import now_ms
from tests.processes import wait_until
from web.reservations import snapshots as snapshots_module
from web.reservations.snapshots import Snapshot, Snapshots


def readers(*, before: Sequence[threading.Thread] = ()) -> list[threading.Thread]:
    """The threads that read, without those of other tests."""
    return [thread for thread in threading.enumerate() if thread.name == "gate" and thread not in before]


def test_a_server_that_is_gone_has_no_thread(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a failover in a Cluster: the item is on another server."""
    before = readers()
    terms = Terms(5, now_ms() - 1000, now_ms() + 3_600_000, 900_000, 2, 1900, "CNY")
    ledger.publish(item_id=7, terms=terms)
    snapshots, server = Snapshots(), object()
    monkeypatch.setattr(snapshots_module, "server_of", lambda item_id: server)
    snapshots.watch(7)
    wait_until(lambda: isinstance(snapshots.find(7), Snapshot), seconds_max=10)
    assert len(readers(before=before)) == 1
    another = object()
    monkeypatch.setattr(snapshots_module, "server_of", lambda item_id: another)
    # Calls go on; one of them finds that the item is not read any more.
    wait_until(lambda: bool(snapshots.find(7)) and list(snapshots._readers) == [another], seconds_max=10)
    wait_until(lambda: len(readers(before=before)) == 1, seconds_max=10)
    assert isinstance(snapshots.find(7), Snapshot)
    # No more questions come.
    monkeypatch.setattr(snapshots_module, "ASKED_SECONDS", 0.0)
    wait_until(lambda: not readers(before=before), seconds_max=10)
    assert not snapshots._readers
    monkeypatch.undo()
    snapshots.watch(7)
    wait_until(lambda: isinstance(snapshots.find(7), Snapshot), seconds_max=10)


def test_calls_for_items_that_are_not_watched_start_no_thread(store: Any) -> None:
    before, snapshots = readers(), Snapshots()
    for item_id in range(1_000_000, 1_000_100):
        assert snapshots.find(item_id) is None
    time.sleep(0.1)
    assert not readers(before=before)
