"""leave_line.lua: a place is given up, and what it kept from newcomers is free."""

from seckill.ledger_words import Departed
from seckill.outcomes import Outcome
from tests.seckill.checked_item import CheckedItem


def sold_out(item: CheckedItem) -> None:
    item.publish_with_line(quantity=3, per_buyer_max=3)
    item.held(buyer=1, units=3)


def test_a_buyer_who_leaves_is_not_waiting_any_more(item: CheckedItem) -> None:
    sold_out(item)
    place = item.waiting(buyer=8)
    item.waiting(buyer=9)
    assert item.leave(place, buyer=8) is Departed.LEFT_LINE
    assert item.line() == ["9"]
    assert item.leave(place, buyer=8) is Departed.NOT_WAITING


def test_a_place_is_left_by_its_own_id_and_buyer(item: CheckedItem) -> None:
    sold_out(item)
    place = item.waiting(buyer=8)
    assert item.leave(item.new_id(), buyer=8) is Departed.NOT_WAITING
    assert item.leave(place, buyer=9) is Departed.NOT_WAITING
    assert item.line() == ["8"]


def test_newcomers_get_units_again_that_only_the_one_who_left_waited_for(item: CheckedItem) -> None:
    sold_out(item)
    small = item.waiting(buyer=8, units=1)
    large = item.waiting(buyer=9, units=3)
    first = next(iter(item.holds_of(1)))
    item.release(first)
    item.held_by_script(buyer=2, units=1)
    assert item.counters() == ("2", "1", "0")
    assert item.reserve(buyer=10).outcome == Outcome.HELD_BY_OTHERS
    assert item.leave(small, buyer=8) is Departed.LEFT_LINE
    assert item.item()["smallest_waiting"] == "3"
    assert item.reserve(buyer=10).outcome == Outcome.RESERVED
    assert item.leave(large, buyer=9) is Departed.LEFT_LINE
    assert "smallest_waiting" not in item.item()


def test_of_several_who_stay_the_fewest_units_count(item: CheckedItem) -> None:
    sold_out(item)
    place = item.waiting(buyer=8, units=1)
    for buyer, units in ((9, 3), (10, 2), (11, 3)):
        item.waiting(buyer=buyer, units=units)
    assert item.leave(place, buyer=8) is Departed.LEFT_LINE
    assert item.item()["smallest_waiting"] == "2"
