"""arrive.lua: one number for an account, in the order of arrival, and how many came before the opening."""

from functools import partial

import pytest

from seckill.waiting_room.room_ledger import Arrival, Arrived
from tests.seckill.checked_item import CheckedItem
from tests.seckill.checked_room import CheckedRoom


def arrived(number: int) -> Arrival:
    return Arrival(Arrived.ARRIVED, number)


def known(number: int, *, entered: bool = False) -> Arrival:
    return Arrival(Arrived.ALREADY_ARRIVED, number, entered)


def test_accounts_are_numbered_in_their_order_and_each_hears_its_number_again(checked_item: CheckedItem) -> None:
    room = CheckedRoom(checked_item)
    assert [room.arrive(account) for account in (7, 9, 8)] == [arrived(0), arrived(1), arrived(2)]
    assert room.arrivals() == {"7": "0", "9": "1", "8": "2"}
    assert room.count("arrivals") == (3,)
    assert [room.refused(partial(room.arrive, account)) for account in (8, 7)] == [known(2), known(0)]


@pytest.mark.parametrize("name", ["opens_ms", "arrivals"])
@pytest.mark.parametrize("value", [None, "many", ""])
def test_a_room_that_has_lost_a_part_is_unavailable(checked_item: CheckedItem, name: str, value: str | None) -> None:
    room = CheckedRoom(checked_item, **{name: value})
    room.has_arrived(9, "0")
    assert room.refused(room.arrive) == room.refused(lambda: room.arrive(9)) == Arrival(Arrived.UNAVAILABLE)


def test_each_answer_has_the_clock_of_the_store(checked_item: CheckedItem) -> None:
    room = CheckedRoom(checked_item)
    for word in ("arrived", "already_arrived"):
        before_ms = room.now_ms()
        answer = room.raw("arrive", [room.keys.room, room.keys.arrivals], [7, "", ""])
        assert (answer[0], answer[2]) == (word, "0")
        assert before_ms <= int(answer[1]) <= room.now_ms()


@pytest.mark.parametrize(("claimed", "count_after"), [(0, 10), (3, 10), (9, 10), (10, 11), (12, 13)])
def test_a_number_that_the_store_has_lost_is_brought_back(
    checked_item: CheckedItem, claimed: int, count_after: int
) -> None:
    room = CheckedRoom(checked_item, arrivals=10)
    assert room.arrive(claimed=claimed) == arrived(claimed)
    assert room.arrivals() == {"7": str(claimed)}
    assert room.count("arrivals") == (count_after,)
    assert room.refused(lambda: room.arrive(claimed=claimed)) == known(claimed)
    assert room.arrive(8) == arrived(count_after)


def test_a_place_that_has_lapsed_is_given_up_once_for_a_new_one(checked_item: CheckedItem) -> None:
    room = CheckedRoom(checked_item, arrivals=10)
    room.has_arrived(7, "4")
    assert room.refused(lambda: room.arrive(given_up=5)) == known(4)
    assert room.arrive(claimed=4, given_up=4) == arrived(10)
    assert (room.arrivals(), room.count("arrivals")) == ({"7": "10"}, (11,))
    assert room.refused(lambda: room.arrive(given_up=4)) == known(10)


def test_one_who_has_entered_gives_nothing_up(checked_item: CheckedItem) -> None:
    room = CheckedRoom(checked_item, arrivals=10)
    room.has_arrived(7, "4*")
    assert room.refused(lambda: room.arrive(given_up=4)) == known(4, entered=True)


@pytest.mark.parametrize(("opens_in_ms", "early"), [(1, None), (0, "10"), (-1, "10")])
def test_the_first_arrival_from_the_opening_on_fixes_how_many_were_early(
    checked_item: CheckedItem, opens_in_ms: int, early: str | None
) -> None:
    room = CheckedRoom(checked_item, arrivals=10)
    with room.at("arrive", opens_ms=opens_in_ms):
        assert room.arrive() == arrived(10)
    assert room.room().get("early") == early
    with room.at("arrive", opens_ms=-1):
        room.arrive(8)
    assert room.room()["early"] == (early or "11")
    assert room.count("arrivals") == (12,)
