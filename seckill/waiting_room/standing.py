"""Joining the line of a sale's waiting room, hearing one's place, and being let in.

Followed from the page or the API: `join` once, `standing` again and again (mostly from memory, web/reservations/), and
once the place is called `why_not_let_in` before each pass.
"""

from dataclasses import dataclass
from enum import StrEnum

from seckill.waiting_room.presence import presence
from seckill.waiting_room.room_ledger import (
    Arrival,
    Arrived,
    Entered,
    Room,
    arrive,
    enter,
    find_arrival,
    read_room,
)


class NotLetIn(StrEnum):
    """Why an account gets no pass, in the words of the API."""

    PLACE_NEEDED = "place_needed"
    PLACE_NOT_CALLED = "place_not_called"
    UNAVAILABLE = "unavailable"


# Not frozen: one is made for each question of everybody who waits.
@dataclass(slots=True)
class Standing:
    """An account in a room. `place` counts from 0; None before the opening."""

    room: Room
    arrival: int
    place: int | None
    has_entered: bool

    @property
    def has_lapsed(self) -> bool:
        return not self.has_entered and self.place is not None and self.place < self.room.lapsed


def join(*, sale_id: int, account_id: int, claimed: int | None = None) -> Standing | None:
    """The account's standing, after giving it a place if it has none, or one that has lapsed; the same each time.

    `claimed` is the arrival number of its token. None if the store does not have the room, which the next sweep makes.
    Raises StoreUnreachable.
    """
    arrival = arrive(sale_id=sale_id, account_id=account_id, claimed=claimed)
    found = standing_of(arrival, read_room(sale_id=sale_id))
    if found is not None and found.has_lapsed:
        arrival = arrive(sale_id=sale_id, account_id=account_id, given_up=arrival.number)
        found = standing_of(arrival, read_room(sale_id=sale_id))
    note(found, sale_id=sale_id)
    return found


def standing(*, sale_id: int, account_id: int) -> Standing | None:
    """The account's standing; None if it has none, or the store does not have the room. Raises StoreUnreachable."""
    room, arrival = find_arrival(sale_id=sale_id, account_id=account_id)
    found = standing_of(arrival, room)
    note(found, sale_id=sale_id)
    return found


def standing_of(arrival: Arrival | None, room: Room | None) -> Standing | None:
    if room is None or arrival is None or arrival.word is Arrived.UNAVAILABLE:
        return None
    return Standing(room, arrival.number, room.place(arrival.number), arrival.entered)


def note(found: Standing | None, *, sale_id: int) -> None:
    if found is not None:
        presence.note(sale_id=sale_id, arrival=found.arrival, now_ms=found.room.now_ms)


def why_not_let_in(*, sale_id: int, account_id: int) -> NotLetIn | None:
    """None if the account may have a pass: its place was called. The first time, it is counted as let in.

    Raises StoreUnreachable.
    """
    room, arrival = find_arrival(sale_id=sale_id, account_id=account_id)
    found = standing_of(arrival, room)
    if found is None:
        return NotLetIn.UNAVAILABLE if room is None else NotLetIn.PLACE_NEEDED
    if found.has_entered:
        return None
    if found.has_lapsed:
        return NotLetIn.PLACE_NEEDED
    if found.place is None or found.place >= found.room.called:
        return NotLetIn.PLACE_NOT_CALLED
    word = enter(sale_id=sale_id, account_id=account_id, arrival=found.arrival, place=found.place)
    if word in (Entered.ENTERED, Entered.ALREADY_ENTERED):
        return None
    return NotLetIn.UNAVAILABLE if word is Entered.UNAVAILABLE else NotLetIn.PLACE_NEEDED
