"""admit.lua: pace, units and people who are gone decide how far a line moves, by the clock of the store."""

import pytest

from seckill.waiting_room.room_ledger import DECIDE_MS, GRACE_MS, Admitted, RoomState
from tests.seckill.checked_item import CheckedItem
from tests.seckill.checked_room import CheckedRoom


def line(item: CheckedItem, **fields: str | int | None) -> CheckedRoom:
    """Thirty came before the opening and ten after it; nobody was called yet."""
    return CheckedRoom(item, **{"arrivals": 40, "early": 30, **fields})


def called(places: int) -> tuple[Admitted, int]:
    return Admitted.ADMITTED, places


# --- who is refused ---


@pytest.mark.parametrize("name", ["opens_ms", "arrivals", "called", "admitted", "next_ms"])
def test_a_room_that_has_lost_a_part_is_unavailable(checked_item: CheckedItem, name: str) -> None:
    room = line(checked_item, **{name: None})
    args = [0, 1, "000001", 60, "open", 9, 0, GRACE_MS, DECIDE_MS]
    with room.nothing_changes():
        before_ms = room.now_ms()
        word, now_ms, *counts = room.raw("admit", [room.keys.room, room.keys.steps], args)
    assert (word, counts) == ("unavailable", ["", ""])
    assert before_ms <= int(now_ms) <= room.now_ms()


@pytest.mark.parametrize(("opens_in_ms", "word"), [(1, "not_open"), (0, "admitted"), (-1, "admitted")])
def test_no_place_is_called_before_the_opening(checked_item: CheckedItem, opens_in_ms: int, word: str) -> None:
    room = line(checked_item, called=3, admitted=2, lapsed_admitted=0)
    with room.at("admit", opens_ms=opens_in_ms, next_ms=0):
        answer = room.raw(
            "admit", [room.keys.room, room.keys.steps], [3, 1, "000001", 60, "open", 9, 0, GRACE_MS, DECIDE_MS]
        )
    moved = word == "admitted"
    assert (answer[0], answer[2:]) == (word, ["4", "3"] if moved else ["3", "2"])
    assert room.count("called", "admitted") == ((4, 3) if moved else (3, 2))


@pytest.mark.parametrize("called_before", [2, 4])
def test_a_caller_who_has_not_seen_the_last_call_changes_nothing(checked_item: CheckedItem, called_before: int) -> None:
    room = line(checked_item, called=3, admitted=2)
    args = [called_before, 1, "000001", 60, "open", 9, 0, GRACE_MS, DECIDE_MS]
    with room.nothing_changes():
        answer = room.raw("admit", [room.keys.room, room.keys.steps], args)
    assert (answer[0], answer[2:]) == ("called_before", ["3", "2"])


# --- the pace ---


@pytest.mark.parametrize(
    ("next_in_ms", "places", "next_after_ms"),
    [
        (0, 1, 1000),
        (-999, 1, 1),
        (-1000, 2, 1000),
        (-1999, 2, 1),
        (-2000, 3, 1000),
        # Two seconds are saved up, and no more.
        (-60_000, 3, 1000),
        (1, 0, 1),
        (1000, 0, 1000),
        # The clock went back, or the pace was slower: nobody waits longer than for one person.
        (60_000, 0, 1000),
    ],
)
def test_people_are_called_at_the_pace(
    checked_item: CheckedItem, next_in_ms: int, places: int, next_after_ms: int
) -> None:
    room = line(checked_item, admitted=1, called=1)
    with room.at("admit", next_ms=next_in_ms, moved_ms=0):
        assert room.admit("1" * 10, called_before=1) == called(1 + places)
    (next_ms, now_ms) = room.count("next_ms", "moved_ms")
    assert next_ms - now_ms == next_after_ms
    assert room.count("admitted", "inside", "pace") == (1 + places, 1 + places, 60)


# --- people who are gone ---


@pytest.mark.parametrize(
    ("present", "places", "people"),
    [
        ("0010101", 5, 2),
        ("11", 2, 2),
        ("1100", 2, 2),
        ("100", 3, 1),
        ("0000", 4, 0),
        ("", 0, 0),
        ("0110", 3, 2),
    ],
)
def test_people_who_are_gone_are_passed_over_and_count_for_nothing(
    checked_item: CheckedItem, present: str, places: int, people: int
) -> None:
    """Two people may be called."""
    room = line(checked_item)
    with room.at("admit", next_ms=-1500):
        assert room.admit(present) == called(places)
    assert room.count("called", "admitted", "inside") == (places, people, people)
    assert room.steps() == ([[places, people, 0]] if places else [])


def test_many_people_and_places_are_called_at_once(checked_item: CheckedItem) -> None:
    room = line(checked_item)
    assert room.admit("1" * 40, pace=100_000, left=30) == called(30)
    args = [30, 200_000, "123456", 60, "open", 1, 30, GRACE_MS, DECIDE_MS]
    answer = room.raw("admit", [room.keys.room, room.keys.steps], args)
    assert answer[2:] == ["123486", "31"]


# --- the units ---


@pytest.mark.parametrize(
    ("left", "places"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 2), (5, 3), (6, 3), (1000, 3), (None, 3)]
)
def test_no_more_people_are_inside_than_units_are_left(
    checked_item: CheckedItem, left: int | None, places: int
) -> None:
    """Two of four people have reserved, and the pace permits three more."""
    room = line(checked_item, admitted=4)
    with room.at("admit", next_ms=-2000):
        assert room.admit("1" * 9, left=left, reservations=2) == called(places)
    assert room.count("inside") == (2 + places,)
    assert room.room()["left"] == ("" if left is None else str(left))


@pytest.mark.parametrize(
    ("left", "reservations", "places"),
    [(1, 4, 1), (None, 4, 1), (0, 4, 0), (1, 3, 0), (None, 3, 0), (1, 9, 1), (5, 5, 1)],
)
def test_the_line_never_stands_while_units_are_left_and_nobody_is_inside(
    checked_item: CheckedItem, left: int | None, reservations: int, places: int
) -> None:
    """The pace does not permit anybody yet; four people were called."""
    room = line(checked_item, admitted=4)
    with room.at("admit", next_ms=500):
        assert room.admit("11", left=left, reservations=reservations) == called(places)
    assert room.count("inside") == (max(0, 4 - reservations) + places,)


@pytest.mark.parametrize("state", [RoomState.PAUSED, RoomState.SOLD_OUT, RoomState.CLOSED])
def test_a_sale_that_does_not_sell_calls_nobody_and_says_so(checked_item: CheckedItem, state: RoomState) -> None:
    room = line(checked_item)
    with room.at("admit", next_ms=-2000):
        assert room.admit("0101", state=state) == called(0)
    assert room.room()["state"] == state
    assert room.count("admitted", "inside", "called") == (0, 0, 0)
    assert room.steps() == []
    with room.at("admit", next_ms=0):
        assert room.admit("0101") == called(2)
    assert room.room()["state"] == "open"


# --- the time to come ---


@pytest.mark.parametrize(("age_ms", "is_over"), [(GRACE_MS - 1, False), (GRACE_MS, True), (GRACE_MS + 1, True)])
def test_places_lapse_when_their_time_to_come_is_over(checked_item: CheckedItem, age_ms: int, is_over: bool) -> None:
    room = line(checked_item, called=9, admitted=8, late_steps=1, lapsed_admitted=5, lapsed_reservations=3)
    for counts in ("6:5:3", "8:7:4", "9:8:4"):
        room.has_step(room.now_ms(), counts)
    with room.at("admit", step=(-age_ms, "6:5:3"), next_ms=1):
        room.admit("1", called_before=9, reservations=5)
    assert room.count("lapsed", "late_steps") == ((6, 0) if is_over else (0, 1))
    # Of the three people after them, two have reserved.
    assert room.count("inside", "lapsed_admitted", "lapsed_reservations") == (1, 5, 3)
    assert room.steps() == [[9, 8, 4], [8, 7, 4], *([] if is_over else [[6, 5, 3]])]


def test_people_who_are_late_stay_late_when_earlier_places_lapse(checked_item: CheckedItem) -> None:
    room = line(checked_item, called=9, admitted=8, late_steps=2, lapsed_admitted=7, lapsed_reservations=4)
    for counts in ("6:5:3", "8:7:4", "9:8:4"):
        room.has_step(room.now_ms(), counts)
    with room.at("admit", step=(-GRACE_MS, "6:5:3"), next_ms=1):
        room.admit("1", called_before=9, reservations=4)
    assert room.count("lapsed", "late_steps", "lapsed_admitted", "inside") == (6, 1, 7, 1)


@pytest.mark.parametrize(
    ("age_ms", "is_late"), [(DECIDE_MS - 1, False), (DECIDE_MS, True), (DECIDE_MS + 1, True), (GRACE_MS - 1, True)]
)
def test_a_unit_is_counted_for_people_who_were_called_lately(
    checked_item: CheckedItem, age_ms: int, is_late: bool
) -> None:
    """One unit is left, and one of eight people cannot decide: the line goes on. Their places have not lapsed."""
    room = line(checked_item, called=9, admitted=8)
    room.has_step(room.now_ms(), "9:8:2")
    with room.at("admit", step=(-age_ms, "9:8:2"), next_ms=0):
        assert room.admit("1", called_before=9, left=1, reservations=7) == called(10 if is_late else 9)
    assert room.count("inside", "lapsed") == (1, 0)
    assert room.count("late_steps", "lapsed_admitted", "lapsed_reservations") == ((1, 8, 7) if is_late else (0, 0, 0))


def test_reservations_of_people_who_are_late_are_not_those_of_later_people(checked_item: CheckedItem) -> None:
    """Before the second step, two had reserved."""
    room = line(checked_item, called=9, admitted=8)
    old_ms = room.now_ms() - DECIDE_MS
    for at_ms, counts in ((old_ms, "5:4:0"), (old_ms, "7:6:2"), (room.now_ms(), "9:8:3")):
        room.has_step(at_ms, counts)
    found = []
    for _call in range(3):
        room.admit("1", called_before=9, left=0, reservations=4)
        found.append(room.count("late_steps", "lapsed_admitted", "lapsed_reservations", "inside"))
    assert found == [(1, 4, 2, 2), (2, 6, 3, 1), (2, 6, 3, 1)]


def test_an_older_release_takes_steps_away_that_were_counted_as_late(checked_item: CheckedItem) -> None:
    room = line(checked_item, called=9, admitted=8, late_steps=7)
    room.has_step(room.now_ms(), "9:8:0")
    room.admit("1", called_before=9, left=0)
    assert room.count("late_steps") == (1,)


def test_reservations_that_the_store_has_lost_let_nobody_else_in(checked_item: CheckedItem) -> None:
    room = line(checked_item, called=9, admitted=8, lapsed_admitted=5, lapsed_reservations=4)
    with room.at("admit", next_ms=0):
        assert room.admit("1", called_before=9, left=3, reservations=2) == called(9)
    assert room.count("inside") == (3,)


def test_the_first_call_fixes_how_many_were_early(checked_item: CheckedItem) -> None:
    room = line(checked_item, early=None)
    room.admit("")
    assert room.count("early") == (40,)
    room.client.hset(room.keys.room, "arrivals", 50)
    room.admit("")
    assert room.count("early") == (40,)


def test_a_step_is_noted_at_its_time_with_the_counts_after_it(checked_item: CheckedItem) -> None:
    room = line(checked_item, called=2, admitted=1, lapsed_admitted=1)
    room.has_step(room.now_ms(), "2:1:0")
    before_ms = room.now_ms()
    with room.at("admit", next_ms=0):
        assert room.admit("01", called_before=2, reservations=7) == called(4)
    newest = room.client.lrange(room.keys.steps, 0, -1)[0].decode()
    at_ms, _, counts = newest.partition(":")
    assert counts == "4:2:7"
    assert before_ms <= int(at_ms) <= room.now_ms()
    assert room.steps() == [[4, 2, 7], [2, 1, 0]]
