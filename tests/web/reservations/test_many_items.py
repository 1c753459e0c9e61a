"""The gate watches hundreds of items without taking a web process for itself."""

import re
import socket
import time
from typing import Any
from unittest import mock

import pytest
from redis.exceptions import AuthenticationError, BusyLoadingError, ConnectionError, TimeoutError

from seckill import ledger
from seckill.ledger import Terms
from seckill.passes import passes
from seckill.store import portions
from seckill.store.keys import keys_of
from seckill.store.portions import parsed, read_portion
from shop.times.timestamps import now_ms
from tests.web.reservations.shadow import SnapshotsByHand
from web.reservations import snapshots as snapshots_module
from web.reservations.item_reading import understood
from web.reservations.snapshots import PORTION_ITEMS, Snapshot

ITEMS = 3 * PORTION_ITEMS
BUYERS = 20


@pytest.fixture
def watched(store: Any) -> SnapshotsByHand:
    """Hundreds of items, some of which are sold out, and known."""
    terms = Terms(BUYERS, now_ms() - 1000, now_ms() + 3_600_000, 900_000, 2, 1900, "CNY")
    snapshots = SnapshotsByHand()
    for item_id in range(1, ITEMS + 1):
        ledger.publish(item_id=item_id, terms=terms)
        snapshots.watch(item_id)
    for buyer in range(1, BUYERS + 1):
        # A few of them are enough.
        for item_id in range(1, 6):
            new_id = passes.new_reservation_id(item_id)
            ledger.reserve(item_id=item_id, reservation_id=new_id, buyer_id=buyer, units=1)
    snapshots.refresh_all(times=5)
    return snapshots


def test_portions_that_changed_are_read_and_items_that_changed_are_parsed(
    watched: SnapshotsByHand, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A portion in which nothing changed is compared as bytes."""
    seen: list[str] = []

    def read(raw: bytes) -> list[Any]:
        seen.append("portion")
        return parsed(raw)

    def parse(answers: Any, *, incarnation: bytes) -> Any:
        seen.append("item")
        return understood(answers, incarnation=incarnation)

    monkeypatch.setattr(portions, "parsed", read)
    monkeypatch.setattr(snapshots_module, "understood", parse)
    watched.refresh_all(times=3)
    assert seen == []
    store.hset(keys_of(7).item, "state", "paused")
    watched.refresh_all()
    assert seen == ["portion", "item"]
    snapshot = watched.find(7)
    assert isinstance(snapshot, Snapshot)
    assert snapshot.counters is not None
    assert snapshot.counters.state == "paused"


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (b"-LOADING Redis is loading the dataset in memory\r\n", BusyLoadingError),
        (b"-NOAUTH Authentication required.\r\n", AuthenticationError),
        (b"", ConnectionError),
        (b"*2\r\n$10\r\n17", TimeoutError),
    ],
    ids=["loading", "not signed in", "closed", "silent"],
)
def test_a_server_that_cannot_answer_is_said_at_once(sent: bytes, kind: type[Exception]) -> None:
    class OneConnection:
        """A pool of one connection, whose server sends this; it is closed, since more could come."""

        is_closed = False

        def __init__(self) -> None:
            self._sock, self.server = socket.socketpair()
            self._sock.settimeout(0.1)
            self.server.sendall(sent)
            if not sent:
                self.server.close()

        def get_connection(self) -> Any:
            return self

        def send_packed_command(self, _parts: list[bytes]) -> None:
            pass

        def disconnect(self) -> None:
            self.is_closed = True

        def release(self, _connection: Any) -> None:
            assert self.is_closed

    pool = OneConnection()
    with pytest.raises(kind), pool._sock, pool.server:
        read_portion(mock.Mock(connection_pool=pool), [(1, 1)], clock_s=time.monotonic)


def test_items_are_read_in_few_round_trips_with_four_commands_each_that_are_packed_once(
    watched: SnapshotsByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, since a time that a test asserts is missed on a busy machine. Before, an item had six commands."""
    read: list[int] = []

    def counted(client: Any, items: Any, **more: Any) -> Any:
        read.append(len(items))
        return read_portion(client, items, **more)

    monkeypatch.setattr(snapshots_module, "read_portion", counted)
    packed_before = portions.commands_for.cache_info().misses
    watched.refresh(list(watched._asked_s))
    assert read == [PORTION_ITEMS] * (ITEMS // PORTION_ITEMS)
    assert portions.commands_for.cache_info().misses == packed_before
    # Each command begins with the number of its words.
    assert len(re.findall(rb"(?m)^\*\d+\r$", portions.commands_for(7, 1))) == 4
    # Each portion has a clock: the last item of many is not older than the first by the time that all of them take.
    clocks = [watched._snapshots[item_id].clock for item_id in range(1, ITEMS + 1)]
    assert len({id(clock) for clock in clocks}) == ITEMS // PORTION_ITEMS
