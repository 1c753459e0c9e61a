"""A place in the words of the API: for the view, for the gate and for the page."""

import json
from enum import StrEnum
from typing import Any, cast

from seckill.live.answer import jitter_ms
from seckill.waiting_room.room_ledger import GRACE_MS, Room, RoomState
from seckill.waiting_room.standing import Standing
from shop.times.timestamps import rfc3339

# How often a page asks: of people who are soon called, of others, and of those who are in or for whom nothing is left.
POLL_SOON_MS, POLL_MS, POLL_SLOWLY_MS = 2_000, 10_000, 30_000
# Before the opening, a page asks again within this time after it. Nothing is decided by who asks first.
OPENING_SPREAD_MS = 5_000
# The line is never as fast as its pace alone says, and seldom slower than it has been lately.
SLOWER, FASTER = 1.5, 0.8


class PlaceState(StrEnum):
    """Where somebody in a waiting room is. The last two are for good."""

    BEFORE_OPENING = "before_opening"
    WAITING = "waiting"
    CALLED = "called"
    LAPSED = "lapsed"
    SOLD_OUT = "sold_out"
    CLOSED = "closed"


class RoomTexts:
    """The answers to everybody who asks for a place in a room at one time of the store's clock, as JSON.

    What all of them hear is put together once. Most are given from memory (web/reservations/rooms.py), where a dict for
    each and DRF's renderer would take ten times as long. No value has a character that JSON escapes.
    """

    def __init__(self, room: Room, *, now_ms: int) -> None:
        self._room = room
        self.now_ms = now_ms
        self._over = PlaceState(room.state) if room.state in (RoomState.SOLD_OUT, RoomState.CLOSED) else None
        fastest, slowest = paces_of(room)
        # For each place ahead. None: nobody is called, or nobody has been called lately.
        self._seconds_min = 60 * FASTER / fastest if fastest else None
        self._seconds_max = 60 * SLOWER / slowest if slowest else None
        self._counts = f'"admitted":{room.called},"people":{room.arrivals},"pace":{room.pace or "null"},"wait_seconds":'
        self._figures = (
            f',"units_left":{"null" if room.left is None else room.left},"opens_at":"{rfc3339(room.opens_ms)}",'
            f'"server_time":"{rfc3339(now_ms)}","poll_after_ms":'
        )
        self._poll_ms, self._poll_slowly_ms = (jitter_ms(wait, now_ms=now_ms) for wait in (POLL_MS, POLL_SLOWLY_MS))

    def state(self, place: int | None, *, has_entered: bool = False) -> PlaceState:
        """Where somebody with this place is; it counts from 0, as in a Standing."""
        if self._over is not None:
            return self._over
        if place is None:
            return PlaceState.BEFORE_OPENING
        if has_entered:
            return PlaceState.CALLED
        if place < self._room.lapsed:
            return PlaceState.LAPSED
        return PlaceState.CALLED if place < self._room.called else PlaceState.WAITING

    def answer(self, arrival: int, place: int | None, state: PlaceState) -> str:
        """The body for an arrival in this state. Places count from 1 in it, arrivals from 0."""
        if place is not None and state is PlaceState.WAITING:
            ahead = place - self._room.called
            return (
                f'{{"state":"waiting","arrival":{arrival},"place":{place + 1},"ahead":{ahead},'
                f"{self._counts}{self._wait_seconds(ahead)}{self._figures}{self._poll_waiting_ms(ahead)}}}"
            )
        shown = "null" if place is None else place + 1
        poll_ms = self._poll_early_ms(arrival) if state is PlaceState.BEFORE_OPENING else self._poll_slowly_ms
        return (
            f'{{"state":"{state}","arrival":{arrival},"place":{shown},"ahead":null,'
            f"{self._counts}null{self._figures}{poll_ms}}}"
        )

    def _wait_seconds(self, ahead: int) -> str:
        """The shortest and the longest time that somebody with so many places ahead may expect.

        `to` is null where the line stands still, and the whole is null during a pause.
        """
        if self._seconds_min is None:
            return "null"
        longest = "null" if self._seconds_max is None else round((ahead + 1) * self._seconds_max)
        return f'{{"from":{round((ahead + 1) * self._seconds_min)},"to":{longest}}}'

    def _poll_waiting_ms(self, ahead: int) -> int:
        """A quarter of the time until the place may be called, within bounds."""
        wait_ms = ahead * 15_000 // max(self._room.pace, 1)
        return self._poll_ms if wait_ms >= POLL_MS else jitter_ms(max(wait_ms, POLL_SOON_MS), now_ms=self.now_ms)

    def _poll_early_ms(self, arrival: int) -> int:
        until_ms = max(self._room.opens_ms - self.now_ms, 0)
        if until_ms > POLL_MS:
            return jitter_ms(POLL_MS, now_ms=self.now_ms)
        return until_ms + 500 + arrival * 7919 % OPENING_SPREAD_MS


def place_body(found: Standing, *, now_ms: int) -> dict[str, Any]:
    """The body for one standing at this time of the store's clock."""
    texts = RoomTexts(found.room, now_ms=now_ms)
    state = texts.state(found.place, has_entered=found.has_entered)
    return cast(dict[str, Any], json.loads(texts.answer(found.arrival, found.place, state)))


def paces_of(room: Room) -> tuple[float, float]:
    """The fastest and the slowest pace that the line may have, in places a minute. The fastest is 0 during a pause.

    Between the pace, which passes over people who are gone, and how fast places were called lately.
    """
    if room.state is not RoomState.OPEN or not room.pace:
        return 0, 0
    seconds = min(GRACE_MS, max(room.now_ms - room.opens_ms, 1_000)) // 1000
    lately = (room.called - room.lapsed) * 60 / seconds
    return max(room.pace, lately), min(room.pace, lately)
