"""A place in the words of the API: for the view, for the gate and for the page."""

from enum import StrEnum
from functools import lru_cache
from typing import Any

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


def place_body(found: Standing, *, now_ms: int) -> dict[str, Any]:
    """The body for one standing at this time of the store's clock. Places count from 1 here, arrivals from 0."""
    room, place = found.room, found.place
    state = state_of(found)
    ahead = max(place - room.called, 0) if place is not None and state is PlaceState.WAITING else None
    return {
        "state": state,
        "arrival": found.arrival,
        "place": None if place is None else place + 1,
        "ahead": ahead,
        "admitted": room.called,
        "people": room.arrivals,
        "pace": room.pace or None,
        "wait_seconds": None if ahead is None else wait_seconds(room, ahead),
        "units_left": room.left,
        "opens_at": time_text(room.opens_ms),
        "server_time": time_text(now_ms),
        "poll_after_ms": poll_after_ms(found, state, ahead, now_ms=now_ms),
    }


# Most answers of a process are given in a few milliseconds, and a text of a time takes as long as all the rest.
time_text = lru_cache(maxsize=100)(rfc3339)


def state_of(found: Standing) -> PlaceState:
    if found.room.state in (RoomState.SOLD_OUT, RoomState.CLOSED):
        return PlaceState(found.room.state)
    if found.place is None:
        return PlaceState.BEFORE_OPENING
    if found.has_lapsed:
        return PlaceState.LAPSED
    return PlaceState.CALLED if found.has_entered or found.place < found.room.called else PlaceState.WAITING


def wait_seconds(room: Room, ahead: int) -> dict[str, int | None] | None:
    """The shortest and the longest time that somebody with so many places ahead may expect.

    Between the pace, which passes over people who are gone, and how fast places were called lately. `to` is None where
    the line stands still, and the whole is None during a pause.
    """
    if room.state is not RoomState.OPEN or not room.pace:
        return None
    seconds = min(GRACE_MS, max(room.now_ms - room.opens_ms, 1_000)) // 1000
    lately = (room.called - room.lapsed) * 60 / seconds
    fastest, slowest = max(room.pace, lately), min(room.pace, lately)
    places = ahead + 1
    longest = None if slowest <= 0 else round(places * 60 * SLOWER / slowest)
    return {"from": round(places * 60 * FASTER / fastest), "to": longest}


def poll_after_ms(found: Standing, state: PlaceState, ahead: int | None, *, now_ms: int) -> int:
    """When to ask again: more often where the place may be called soon."""
    room = found.room
    if state is PlaceState.BEFORE_OPENING:
        until_ms = max(room.opens_ms - now_ms, 0)
        return until_ms + spread_ms(found) if until_ms <= POLL_MS else jitter_ms(POLL_MS, now_ms=now_ms)
    if ahead is None:
        return jitter_ms(POLL_SLOWLY_MS, now_ms=now_ms)
    until_called_ms = ahead * 60_000 // max(room.pace, 1)
    return jitter_ms(min(max(until_called_ms // 4, POLL_SOON_MS), POLL_MS), now_ms=now_ms)


def spread_ms(found: Standing) -> int:
    return 500 + found.arrival * 7919 % OPENING_SPREAD_MS
