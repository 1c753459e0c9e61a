"""Waiting rooms in memory: a thread reads the rooms that are asked for, and each place is told from them.

The token has the arrival number, so nobody's place is looked up: it is computed, once for each person and process, and
the answer is put together from the room's figures. The arrivals that ask are noted for the sweep that calls the next.
"""

import threading
import time
from dataclasses import dataclass

import structlog

from seckill.store.client import StoreUnreachable
from seckill.store.portions import Clock
from seckill.waiting_room.place_answer import PlaceState, RoomTexts
from seckill.waiting_room.place_tokens import PlaceToken
from seckill.waiting_room.presence import presence
from seckill.waiting_room.room_ledger import Room, read_room
from shop.background.lazy_thread import LazyThread

log = structlog.get_logger(__name__)

INTERVAL_SECONDS = 0.2
# The line moves once a second. An older snapshot is not used, and the view says what is wrong.
AGE_SECONDS_MAX = 1.5
# A room without a call for so long is no longer read.
ASKED_SECONDS = 10.0
# Signed tokens name them, so they exist; a process reads some of them.
ROOMS_MAX = 100


# How long everybody hears the same time. The place is computed for each, and the rest of the answer once.
TEXTS_SECONDS = 0.01


@dataclass(slots=True)
class ReadRoom:
    """A room, when it was read, and the answers in it at `texts_s` of the process's clock."""

    room: Room
    clock: Clock
    texts: RoomTexts
    texts_s: float = 0.0

    def texts_at(self, now_s: float) -> RoomTexts:
        if now_s - self.texts_s >= TEXTS_SECONDS:
            self.texts, self.texts_s = RoomTexts(self.room, now_ms=self.clock.earliest_ms(now_s)), now_s
        return self.texts


class Rooms:
    """The latest snapshot of each room that is asked for. Used from one event loop; reading has a thread."""

    def __init__(self) -> None:
        self._asked_s: dict[int, float] = {}
        self._read: dict[int, ReadRoom] = {}
        self._reader = LazyThread(self._refresh_while_asked, name="rooms")

    def watch(self, sale_id: int) -> None:
        """Read the room from now on, as long as calls for it come."""
        if sale_id in self._asked_s or len(self._asked_s) < ROOMS_MAX:
            self._asked_s[sale_id] = time.monotonic()
            self._reader.wake()

    def answer(self, token: PlaceToken) -> bytes | None:
        """The body of the view's answer; None if the view must give it."""
        now_s, read = time.monotonic(), self._read.get(token.sale_id)
        if read is None or now_s - read.clock.sent_s > AGE_SECONDS_MAX:
            return None
        self._asked_s[token.sale_id] = now_s
        arrival, room, texts = token.arrival, read.room, read.texts_at(now_s)
        place = room.place(arrival)
        state = texts.state(place)
        # Only the store knows whether somebody has entered, and about a number that came back after a loss.
        if arrival >= room.arrivals or state is PlaceState.LAPSED:
            return None
        presence.note(sale_id=token.sale_id, arrival=arrival, now_ms=texts.now_ms)
        return texts.answer(arrival, place, state).encode()

    def _refresh_while_asked(self) -> None:
        while sale_ids := self._asked_lately():
            self.refresh(sale_ids)
            threading.Event().wait(INTERVAL_SECONDS)

    def _asked_lately(self) -> list[int]:
        since_s = time.monotonic() - ASKED_SECONDS
        for sale_id, asked_s in list(self._asked_s.items()):
            if asked_s < since_s:
                self._asked_s.pop(sale_id, None)
                self._read.pop(sale_id, None)
        return list(self._asked_s)

    def refresh(self, sale_ids: list[int]) -> None:
        """Read these rooms. One that cannot be read is left to the view."""
        for sale_id in sale_ids:
            sent_s = time.monotonic()
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
                clock = Clock(sent_s, time.monotonic(), room.now_ms)
                # A room's first place takes milliseconds: here, so that the event loop does not wait for it.
                room.place(0)
                self._read[sale_id] = ReadRoom(room, clock, RoomTexts(room, now_ms=room.now_ms))
