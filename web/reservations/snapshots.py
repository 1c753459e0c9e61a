"""The gate's snapshots of items: a thread for each server of the reservation store reads them every 50 ms.

It reads all items of its server with recent calls, in portions. If the server hangs, only it waits.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

import structlog
from redis import Redis
from redis.exceptions import MovedError

from seckill.items.item_state import SCAN_COUNT
from seckill.ledger import Counters
from seckill.store.client import StoreUnreachable, ask, note_moved, server_of
from seckill.store.keys import keys_of
from seckill.store.portions import Answers, Clock, Portion, read_portion
from shop.background.lazy_thread import LazyThread
from web.reservations.item_reading import ReadItem, understood
from web.reservations.known_reservations import KnownReservations

log = structlog.get_logger(__name__)

INTERVAL_SECONDS = 0.05
# An older snapshot is not used: units that come back are on sale again after at most this, and one interval.
AGE_SECONDS_MAX = 0.09
# An item without a call for so long is no longer read.
ASKED_SECONDS = 10.0
# How long a failure counts. The next attempt may take two seconds (PROBE_SECONDS_MAX), and decides again.
AWAY_SECONDS = 3.0
# So many items are read in one round trip, with a clock of their own. Some hundred microseconds of the server's time.
PORTION_ITEMS = 100
# The part of each interval that may go into reading the ids of reservations.
READING_SECONDS_MAX = 0.02


class Away(Enum):
    """The store did not answer the last request."""

    AWAY = "away"


AWAY = Away.AWAY


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One item as it was in the store.

    `counters` None: the store does not have the item, or it is not verified, so nothing can be reserved. Their `now_ms`
    is 0, since the same object serves as long as nothing changes.
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
        # The last answers, and what they meant: most of the time, nothing has changed.
        self._read: dict[int, ReadItem] = {}
        # The last portions as they came, by their first item.
        self._portions: dict[int, Portion] = {}
        # By server (store.server_of), as the readers.
        self._away_until_s: dict[object, float] = {}
        self._readers: dict[object, LazyThread] = {}
        self._lock = threading.Lock()

    def watch(self, item_id: int) -> None:
        """Read the item from now on, as long as calls for it come."""
        now_s, snapshot = self.clock_s(), self._snapshots.get(item_id)
        self._asked_s[item_id] = now_s
        # Each yes watches its item, which most often is being read.
        if snapshot is None or now_s - snapshot.clock.sent_s > AGE_SECONDS_MAX:
            self._wake_reader(server_of(item_id))

    def find(self, item_id: int, *, age_seconds_max: float = AGE_SECONDS_MAX) -> Snapshot | Away | None:
        """The item's snapshot, if there is a recent one. AWAY: its server does not answer."""
        now_s, is_watched = self.clock_s(), item_id in self._asked_s
        if is_watched:
            self._asked_s[item_id] = now_s
        snapshot = self._snapshots.get(item_id)
        if snapshot is not None and now_s - snapshot.clock.sent_s <= age_seconds_max:
            return snapshot
        server = server_of(item_id)
        if is_watched:
            self._wake_reader(server)
        return AWAY if now_s < self._away_until_s.get(server, 0.0) else None

    def _wake_reader(self, server: object) -> None:
        with self._lock:
            reader = self._readers.get(server)
            if reader is None:
                reader = self._readers[server] = LazyThread(partial(self._refresh_asked, server), name="gate")
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
        """Read the items of the server as long as somebody asks for one of them. Then its thread ends.

        After a failover there are other servers, and those that are gone must not keep threads.
        """
        while True:
            item_ids = self._asked_of(server)
            if not item_ids and self._is_done_with(server):
                return
            started_s, worked_s = self.clock_s(), time.thread_time()
            try:
                self.refresh(item_ids)
                # With very many items, calls of buyers still get half of the process, and the script decides more.
                worked_seconds = time.thread_time() - worked_s
                pause_seconds = max(INTERVAL_SECONDS - (self.clock_s() - started_s), worked_seconds)
            except StoreUnreachable:
                # Logged and counted by seckill/store/failures.py.
                pause_seconds = INTERVAL_SECONDS
            except Exception:
                log.exception("gate_not_refreshed")
                pause_seconds = 1.0
            time.sleep(max(pause_seconds, 0.001))

    def _asked_of(self, server: object) -> list[int]:
        return [item_id for item_id in self._asked_lately() if server_of(item_id) is server]

    def _is_done_with(self, server: object) -> bool:
        with self._lock:
            # An item may have been asked for just now, by a caller who woke this thread and no other.
            if self._asked_of(server):
                return False
            self._readers.pop(server).stop()
            self._away_until_s.pop(server, None)
            return True

    def _asked_lately(self) -> list[int]:
        since_s = self.clock_s() - ASKED_SECONDS
        for item_id, asked_s in list(self._asked_s.items()):
            if asked_s < since_s:
                self._asked_s.pop(item_id, None)
                self._snapshots.pop(item_id, None)
                self._known.pop(item_id, None)
                self._read.pop(item_id, None)
                self._portions.pop(item_id, None)
        return list(self._asked_s)

    def refresh(self, item_ids: Sequence[int]) -> None:
        """Read the items of one server, and the ids of reservations where all of them are needed.

        Raises StoreUnreachable.
        """
        if not item_ids:
            return
        server = server_of(item_ids[0])
        try:
            for start in range(0, len(item_ids), PORTION_ITEMS):
                portion = item_ids[start : start + PORTION_ITEMS]
                ask(partial(self._read_items, item_ids=portion), item_id=portion[0])
                self._away_until_s.pop(server, None)
            ask(partial(self._read_ids, item_ids=item_ids), item_id=item_ids[0])
        except StoreUnreachable:
            self._away_until_s[server] = self.clock_s() + AWAY_SECONDS
            raise

    def _read_items(self, client: Redis, item_ids: Sequence[int]) -> None:
        wanted = []
        for item_id in item_ids:
            known = self._known.get(item_id) or self._known.setdefault(item_id, KnownReservations())
            wanted.append((item_id, known.latest_count))
        portion = read_portion(client, wanted, clock_s=self.clock_s, before=self._portions.get(item_ids[0]))
        self._portions[item_ids[0]] = portion
        for item_id, answers in zip(item_ids, portion.answers, strict=True):
            for answer in answers:
                if isinstance(answer, MovedError):
                    note_moved(answer)
            snapshot = self._snapshot(item_id, answers, portion)
            if snapshot is None:
                self._snapshots.pop(item_id, None)
            else:
                self._snapshots[item_id] = snapshot

    def _snapshot(self, item_id: int, answers: Answers, portion: Portion) -> Snapshot | None:
        """None if the view must decide."""
        read, clock, before = self._read.get(item_id), portion.clock, self._snapshots.get(item_id)
        is_unchanged = read is not None and read.answers == answers and read.incarnation == portion.incarnation
        if read is None or not is_unchanged:
            read = understood(answers, incarnation=portion.incarnation)
            if read is None:
                self._read.pop(item_id, None)
                return None
            self._read[item_id] = read
        if read.counters is None:
            self._known.pop(item_id, None)
            return Snapshot(clock, counters=None, known=None)
        counters, known = read.counters, self._known[item_id]
        if known.verification != read.verification:
            # A reconcile has compared the item with its orders in between, and reservations may have come back.
            known = self._known[item_id] = KnownReservations(verification=read.verification)
        complete = (is_unchanged and before is not None and before.known is known) or (
            known.follow(reservations=counters.reservations, latest=answers[2]) or counters.reservations == 0
        )
        return Snapshot(
            clock,
            counters=counters,
            known=known if complete else None,
            open_since_s=open_since_s(counters, before=before, clock=clock),
        )

    def _read_ids(self, client: Redis, item_ids: Sequence[int]) -> None:
        """Go on reading the ids of items whose reservations are refused, for some milliseconds."""
        until_s = self.clock_s() + READING_SECONDS_MAX
        for item_id in item_ids:
            snapshot, known = self._snapshots.get(item_id), self._known.get(item_id)
            if snapshot is None or known is None or snapshot.counters is None:
                continue
            # While units can be reserved, the ids are not needed, and their number grows every moment.
            counters, now_ms = snapshot.counters, snapshot.clock.now_ms
            if now_ms >= counters.opens_ms and not is_refusing(counters, now_ms=now_ms):
                continue
            while known.must_be_read and self.clock_s() < until_s:
                answer: Any = client.hscan(keys_of(item_id).holds, known.cursor, count=SCAN_COUNT)
                known.take_portion(answer[1], next_cursor=answer[0], reservations=counters.reservations)


def open_since_s(counters: Counters, *, before: Snapshot | None, clock: Clock) -> float | None:
    if is_refusing(counters, now_ms=clock.now_ms):
        return None
    if before is None:
        # There is no snapshot of the time before. Holding back now would slow down the first calls of every sale.
        return clock.received_s - AGE_SECONDS_MAX
    return clock.received_s if before.open_since_s is None else before.open_since_s


def is_refusing(counters: Counters, *, now_ms: int) -> bool:
    """Whether the store refuses every new reservation. A sale that has not opened is not meant: it opens by itself."""
    if counters.state == "paused" or now_ms >= counters.closes_ms:
        return True
    return counters.left is not None and counters.left <= 0
