"""Waiting rooms in memory: a thread reads the rooms that are asked for, and each place is told from them.

The token has the arrival number, so nobody's place is looked up: it is computed, once for each person and process, and
the answer is put together from the room's figures. Who has asked is noted for the sweep that calls the next.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from seckill.store.client import StoreUnreachable
from seckill.store.portions import Clock
from seckill.waiting_room.place_answer import PlaceState, place_body, state_of
from seckill.waiting_room.place_tokens import PlaceToken
from seckill.waiting_room.presence import presence
from seckill.waiting_room.room_ledger import Room, read_room
from seckill.waiting_room.standing import Standing
from shop.background.lazy_thread import LazyThread

log = structlog.get_logger(__name__)

INTERVAL_SECONDS = 0.2
# The line moves once a second. An older snapshot is not used, and the view says what is wrong.
AGE_SECONDS_MAX = 1.5
# A room without a call for so long is no longer read.
ASKED_SECONDS = 10.0
# Signed tokens name them, so they exist; a process reads some of them.
ROOMS_MAX = 100


# The body of `place_body`; the named numbers may be null.
PLACE_JSON = (
    '{"state":"%(state)s","arrival":%(arrival)d,"place":%(place)s,"ahead":%(ahead)s,"admitted":%(admitted)d,'
    '"people":%(people)d,"pace":%(pace)s,"wait_seconds":%(wait_seconds)s,"units_left":%(units_left)s,'
    '"opens_at":"%(opens_at)s","server_time":"%(server_time)s","poll_after_ms":%(poll_after_ms)d}'
)
WAIT_JSON = '{"from":%d,"to":%s}'
NUMBERS = ("place", "ahead", "pace", "units_left")


@dataclass(frozen=True, slots=True)
class ReadRoom:
    """A room, and when it was read."""

    room: Room
    clock: Clock


class Rooms:
    """The latest snapshot of each room that is asked for. Used from one event loop; reading has a thread."""

    def __init__(self, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._asked_s: dict[int, float] = {}
        self._read: dict[int, ReadRoom] = {}
        self._reader = LazyThread(self._refresh_while_asked, name="rooms")

    def watch(self, sale_id: int) -> None:
        """Read the room from now on, as long as calls for it come."""
        if sale_id in self._asked_s or len(self._asked_s) < ROOMS_MAX:
            self._asked_s[sale_id] = self._clock_s()
            self._reader.wake()

    def answer(self, token: PlaceToken) -> bytes | None:
        """The body of the view's answer; None if the view must give it."""
        now_s, read = self._clock_s(), self._read.get(token.sale_id)
        if read is None or now_s - read.clock.sent_s > AGE_SECONDS_MAX:
            return None
        self._asked_s[token.sale_id] = now_s
        now_ms = read.clock.earliest_ms(now_s)
        room = read.room
        found = Standing(room, token.arrival, room.place(token.arrival), has_entered=False)
        # Only the store knows whether somebody has entered, and about a number that came back after a loss.
        if token.arrival >= room.arrivals or state_of(found) is PlaceState.LAPSED:
            return None
        presence.note(sale_id=token.sale_id, arrival=token.arrival, now_ms=now_ms)
        return rendered(place_body(found, now_ms=now_ms))

    def _refresh_while_asked(self) -> None:
        while sale_ids := self._asked_lately():
            self.refresh(sale_ids)
            threading.Event().wait(INTERVAL_SECONDS)

    def _asked_lately(self) -> list[int]:
        since_s = self._clock_s() - ASKED_SECONDS
        for sale_id, asked_s in list(self._asked_s.items()):
            if asked_s < since_s:
                self._asked_s.pop(sale_id, None)
                self._read.pop(sale_id, None)
        return list(self._asked_s)

    def refresh(self, sale_ids: list[int]) -> None:
        """Read these rooms. One that cannot be read is left to the view."""
        for sale_id in sale_ids:
            sent_s = self._clock_s()
            try:
                room = read_room(sale_id=sale_id)
            except StoreUnreachable:
                # Logged and counted by seckill/store/failures.py.
                room = None
            except Exception:
                log.exception("room_not_read", sale_id=sale_id)
                room = None
            if room is None:
                self._read.pop(sale_id, None)
            else:
                self._read[sale_id] = ReadRoom(room, Clock(sent_s, self._clock_s(), room.now_ms))


def rendered(body: dict[str, Any]) -> bytes:
    """As DRF's renderer writes it, which takes ten times as long. No value has a character that JSON escapes."""
    wait = body["wait_seconds"]
    numbers = {name: "null" if body[name] is None else body[name] for name in NUMBERS}
    wait_json = "null" if wait is None else WAIT_JSON % (wait["from"], "null" if wait["to"] is None else wait["to"])
    return (PLACE_JSON % {**body, **numbers, "wait_seconds": wait_json}).encode()
