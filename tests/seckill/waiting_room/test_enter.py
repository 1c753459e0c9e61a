"""enter.lua: each word, in the order of the checks, and that an account is let in once."""

from collections.abc import Callable

import pytest

from seckill.waiting_room.room_ledger import Entered
from tests.seckill.checked_item import CheckedItem
from tests.seckill.checked_room import CheckedRoom


def room_with(item: CheckedItem, entry: str | None = "5", **fields: str | int | None) -> CheckedRoom:
    """Places 2 to 3 are called and have not lapsed; account 7 has arrived as number 5, and two others have entered."""
    room = CheckedRoom(item, **{"called": 4, "lapsed": 2, "entered": 2, **fields})
    if entry is not None:
        room.has_arrived(7, entry)
    return room


@pytest.mark.parametrize("place", [2, 3])
def test_a_place_that_was_called_lets_its_account_in_once(checked_item: CheckedItem, place: int) -> None:
    room = room_with(checked_item)
    before = room.room()
    assert room.enter(place=place) == Entered.ENTERED
    assert room.arrivals() == {"7": "5*"}
    assert room.room() == before | {"entered": "3"}
    assert room.refused(lambda: room.enter(place=place)) == Entered.ALREADY_ENTERED


@pytest.mark.parametrize(("place", "word"), [(4, Entered.NOT_CALLED), (5, Entered.NOT_CALLED), (1, Entered.LAPSED)])
def test_a_place_that_was_not_called_or_has_lapsed_lets_nobody_in(
    checked_item: CheckedItem, place: int, word: Entered
) -> None:
    room = room_with(checked_item)
    assert room.refused(lambda: room.enter(place=place)) == word


@pytest.mark.parametrize("name", ["called", "lapsed", "entered"])
@pytest.mark.parametrize("value", [None, "many"])
def test_a_room_that_has_lost_a_part_is_unavailable(checked_item: CheckedItem, name: str, value: str | None) -> None:
    for entry in (None, "5", "5*"):
        room = room_with(checked_item, entry, **{name: value})
        assert room.refused(room.enter) == Entered.UNAVAILABLE, entry


CASES: dict[str, Callable[[CheckedRoom], object]] = {
    "unavailable": lambda room: room.client.delete(room.keys.room),
    "already_entered": lambda room: room.has_arrived(7, "5*"),
    "no_place": lambda room: room.has_arrived(7, "6"),
    "not_called": lambda room: room.client.hset(room.keys.room, "called", 1),
    "lapsed": lambda room: room.client.hset(room.keys.room, "lapsed", 4),
    "entered": lambda room: None,
}


@pytest.mark.parametrize("word", CASES)
def test_each_answer_has_the_clock_of_the_store(checked_item: CheckedItem, word: str) -> None:
    room = room_with(checked_item)
    CASES[word](room)
    before_ms = room.now_ms()
    told, now_ms = room.raw("enter", [room.keys.room, room.keys.arrivals], [7, 5, 3])
    assert told == word
    assert before_ms <= int(now_ms) <= room.now_ms()
