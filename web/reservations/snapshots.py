"""The gate's snapshots of items: a thread for each server of the reservation store reads them every 50 ms.

It makes one request at a time, for all items of its server with recent calls. If the server hangs, only it waits.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

import structlog
from redis import Redis
from redis.exceptions import MovedError, ReadOnlyError

from seckill.items.item_state import SCAN_COUNT, Condition, condition_of
from seckill.ledger import Counters, counters_from
from seckill.phase import Phase
from seckill.store.client import StoreUnreachable, ask, note_moved, server_of
from seckill.store.keys import keys_of
from shop.background.lazy_thread import LazyThread
from web.reservations.known_reservations import KnownReservations

log = structlog.get_logger(__name__)

INTERVAL_SECONDS = 0.05
# An older snapshot is not used: units that come back are on sale again after at most this, and one interval.
AGE_SECONDS_MAX = 0.09
# An item without a call for so long is no longer read.
ASKED_SECONDS = 10.0
# How long a failure counts. The next attempt may take two seconds (PROBE_SECONDS_MAX), and decides again.
AWAY_SECONDS = 3.0
# The part of each interval that may go into reading the ids of reservations.
READING_SECONDS_MAX = 0.02


class Away(Enum):
    """The store did not answer the last request."""

    AWAY = "away"


AWAY = Away.AWAY


@dataclass(frozen=True, slots=True)
class Clock:
    """The store's clock was `now_ms` at some moment between `sent_s` and `received_s` of this process's clock."""

    sent_s: float
    received_s: float
    now_ms: int

    def earliest_ms(self, now_s: float) -> int:
        """The store's clock at `now_s` cannot show less."""
        return self.now_ms + int((now_s - self.received_s) * 1000)

    def latest_ms(self, now_s: float) -> int:
        """The store's clock at `now_s` cannot show more."""
        return self.now_ms + 1 + math.ceil((now_s - self.sent_s) * 1000)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One item as it was in the store.

    `counters` None: the store does not have the item, or it is not verified, so nothing can be reserved.
    `known` are its reservations; None unless all of them are known.
    """

    clock: Clock
    counters: Counters | None
    known: KnownReservations | None
    # Since when units can be reserved, as far as this process has seen. None while `is_refusing`.
    open_since_s: float | None = None

    def counters_at(self, now_s: float) -> Counters | None:
        """The counters with the store's clock as it is at `now_s`, which decides about the phase."""
        return replace(self.counters, now_ms=self.clock.earliest_ms(now_s)) if self.counters else None


class Snapshots:
    """The latest snapshot of each item that is asked for. A thread starts with the first item of its server."""

    def __init__(self, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.clock_s = clock_s
        self._asked_s: dict[int, float] = {}
        self._snapshots: dict[int, Snapshot] = {}
        self._known: dict[int, KnownReservations] = {}
        # By server (store.server_of), as the readers.
        self._away_until_s: dict[object, float] = {}
        self._readers: dict[object, LazyThread] = {}
        self._lock = threading.Lock()

    def watch(self, item_id: int) -> None:
        """Read the item from now on, as long as calls for it come."""
        self._asked_s[item_id] = self.clock_s()
        self._wake_reader(server_of(item_id))

    def find(self, item_id: int) -> Snapshot | Away | None:
        """The item's snapshot, if there is a recent one. AWAY: its server does not answer."""
        now_s = self.clock_s()
        if item_id in self._asked_s:
            self._asked_s[item_id] = now_s
        snapshot = self._snapshots.get(item_id)
        if snapshot is not None and now_s - snapshot.clock.sent_s <= AGE_SECONDS_MAX:
            return snapshot
        server = server_of(item_id)
        self._wake_reader(server)
        return AWAY if now_s < self._away_until_s.get(server, 0.0) else None

    def _wake_reader(self, server: object) -> None:
        reader = self._readers.get(server)
        if reader is None:
            with self._lock:
                reader = self._readers.setdefault(server, LazyThread(partial(self._refresh_asked, server), name="gate"))
        reader.wake()

    def hold_back_seconds(self, item_id: int) -> float:
        """How long a yes must be held back, so that a repeated call hears it again in every process.

        Just after units came back, other processes may still have a snapshot without them, and without this yes.
        """
        snapshot = self._snapshots.get(item_id)
        if snapshot is None:
            return 0.0
        if snapshot.open_since_s is None:
            return AGE_SECONDS_MAX + INTERVAL_SECONDS
        return max(snapshot.open_since_s + AGE_SECONDS_MAX - self.clock_s(), 0.0)

    def _refresh_asked(self, server: object) -> None:
        """Read the items of the server as long as somebody asks for one of them."""
        while item_ids := [item_id for item_id in self._asked_lately() if server_of(item_id) is server]:
            started_s = self.clock_s()
            try:
                self.refresh(item_ids)
                pause_seconds = INTERVAL_SECONDS - (self.clock_s() - started_s)
            except StoreUnreachable:
                # Logged and counted by seckill/store/failures.py.
                pause_seconds = INTERVAL_SECONDS
            except Exception:
                log.exception("gate_not_refreshed")
                pause_seconds = 1.0
            time.sleep(max(pause_seconds, 0.001))

    def _asked_lately(self) -> list[int]:
        since_s = self.clock_s() - ASKED_SECONDS
        for item_id, asked_s in list(self._asked_s.items()):
            if asked_s < since_s:
                self._asked_s.pop(item_id, None)
                self._snapshots.pop(item_id, None)
                self._known.pop(item_id, None)
        return list(self._asked_s)

    def refresh(self, item_ids: Sequence[int]) -> None:
        """Read the items of one server, in one round trip, and the ids of reservations where all of them are needed.

        Raises StoreUnreachable.
        """
        if not item_ids:
            return
        server = server_of(item_ids[0])

        def read(client: Redis) -> None:
            self._read_items(client, item_ids)
            self._away_until_s.pop(server, None)
            self._read_ids(client, item_ids)

        try:
            ask(read, item_id=item_ids[0])
        except StoreUnreachable:
            self._away_until_s[server] = self.clock_s() + AWAY_SECONDS
            raise

    def _read_items(self, client: Redis, item_ids: Sequence[int]) -> None:
        pipeline = client.pipeline(transaction=False)
        pipeline.time()
        pipeline.info("replication")
        for item_id in item_ids:
            keys, known = keys_of(item_id), self._known.setdefault(item_id, KnownReservations())
            pipeline.hgetall(keys.item)
            pipeline.exists(keys.outbox)
            pipeline.exists(keys.buyers)
            pipeline.exists(keys.holds)
            # After the counters: the list has every reservation that they count.
            pipeline.lrange(keys.latest, 0, known.latest_count - 1)
            pipeline.xlen(keys.outbox)
        sent_s = self.clock_s()
        answers = pipeline.execute(raise_on_error=False)
        received_s = self.clock_s()
        for answer in answers[:2]:
            if isinstance(answer, Exception):
                raise answer
        (seconds, microseconds), replication = answers[:2]
        if replication["role"] != "master":
            # The primary was demoted. It lags, and reading alone would not show that.
            raise ReadOnlyError("a replica has answered")
        incarnation = str(replication["master_replid"]).encode()
        clock = Clock(sent_s, received_s, now_ms=seconds * 1000 + microseconds // 1000)
        for answer in answers:
            if isinstance(answer, MovedError):
                note_moved(answer)
        for index, item_id in enumerate(item_ids):
            found = answers[2 + 6 * index : 8 + 6 * index]
            snapshot = self._snapshot(item_id, found, clock=clock, incarnation=incarnation)
            if snapshot is None:
                self._snapshots.pop(item_id, None)
            else:
                self._snapshots[item_id] = snapshot

    def _snapshot(self, item_id: int, found: Sequence[Any], *, clock: Clock, incarnation: bytes) -> Snapshot | None:
        """None if a key has the wrong type, or a number cannot be read: the view then decides."""
        if any(isinstance(answer, Exception) for answer in found):
            # MOVED too: the item is on another node now.
            return None
        item, outbox, buyers, holds, latest, backlog = found
        if item.get(b"incarnation") != incarnation:
            self._known.pop(item_id, None)
            return Snapshot(clock, counters=None, known=None)
        if condition_of(item, outbox, buyers, holds, now=incarnation) is not Condition.VERIFIED:
            return None
        counters = counters_from(item, now_ms=clock.now_ms, backlog=backlog)
        if counters is None:
            return None
        known = self._known[item_id]
        if known.verification != item.get(b"verification"):
            # A reconcile has compared the item with its orders in between, and reservations may have come back.
            known = self._known[item_id] = KnownReservations(verification=item.get(b"verification"))
        complete = known.follow(reservations=counters.reservations, latest=latest) or counters.reservations == 0
        return Snapshot(
            clock,
            counters=counters,
            known=known if complete else None,
            open_since_s=self._open_since_s(item_id, counters, clock=clock),
        )

    def _open_since_s(self, item_id: int, counters: Counters, *, clock: Clock) -> float | None:
        if is_refusing(counters):
            return None
        before = self._snapshots.get(item_id)
        if before is None:
            # There is no snapshot of the time before. Holding back now would slow down the first calls of every sale.
            return clock.received_s - AGE_SECONDS_MAX
        return clock.received_s if before.open_since_s is None else before.open_since_s

    def _read_ids(self, client: Redis, item_ids: Sequence[int]) -> None:
        """Go on reading the ids of items whose reservations are refused, for some milliseconds."""
        until_s = self.clock_s() + READING_SECONDS_MAX
        for item_id in item_ids:
            snapshot, known = self._snapshots.get(item_id), self._known.get(item_id)
            if snapshot is None or known is None or snapshot.counters is None:
                continue
            # While units can be reserved, the ids are not needed, and their number grows every moment.
            if snapshot.counters.phase is Phase.OPEN and not is_refusing(snapshot.counters):
                continue
            while known.must_be_read and self.clock_s() < until_s:
                answer: Any = client.hscan(keys_of(item_id).holds, known.cursor, count=SCAN_COUNT)
                known.take_portion(answer[1], next_cursor=answer[0], reservations=snapshot.counters.reservations)


def is_refusing(counters: Counters) -> bool:
    """Whether the store refuses every new reservation. A sale that has not opened is not meant: it opens by itself."""
    if counters.phase in (Phase.PAUSED, Phase.ENDED) or counters.state == "paused":
        return True
    return counters.left is not None and counters.left <= 0
