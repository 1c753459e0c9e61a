"""leave_line.lua: a place is given up, and what it kept from newcomers is free."""

import pytest

from seckill.ledger_words import Departed
from seckill.outcomes import Outcome
from tests.seckill.checked_item import CheckedItem


def sold_out(item: CheckedItem) -> None:
    item.publish_with_line(quantity=3, per_buyer_max=3)
    item.held(buyer=1, units=3)


def test_who_leaves_is_not_waiting_any_more(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    place = checked_item.waiting(buyer=8)
    checked_item.waiting(buyer=9)
    assert checked_item.leave(place, buyer=8) is Departed.LEFT_LINE
    assert checked_item.line() == ["9"]
    assert checked_item.leave(place, buyer=8) is Departed.NOT_WAITING


def test_a_place_is_left_by_its_own_id_and_buyer(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    place = checked_item.waiting(buyer=8)
    assert checked_item.leave(checked_item.new_id(), buyer=8) is Departed.NOT_WAITING
    assert checked_item.leave(place, buyer=9) is Departed.NOT_WAITING
    assert checked_item.line() == ["8"]


@pytest.mark.parametrize("damaged", ["", "{}", "{}:1", "x{}:1:1"])
def test_a_damaged_place_is_nobodys(checked_item: CheckedItem, damaged: str) -> None:
    sold_out(checked_item)
    place = checked_item.waiting(buyer=8)
    checked_item.client.hset(checked_item.keys.places, "8", damaged.format(place))
    assert checked_item.leave(place, buyer=8) is Departed.NOT_WAITING


def test_newcomers_get_units_again_that_only_the_one_who_left_waited_for(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    small = checked_item.waiting(buyer=8, units=1)
    large = checked_item.waiting(buyer=9, units=3)
    first = next(iter(checked_item.holds_of(1)))
    checked_item.release(first)
    checked_item.held_by_script(buyer=2, units=1)
    assert checked_item.counters() == ("2", "1", "0")
    assert checked_item.reserve(buyer=10).outcome == Outcome.HELD_BY_OTHERS
    assert checked_item.leave(small, buyer=8) is Departed.LEFT_LINE
    assert checked_item.item()["smallest_waiting"] == "3"
    assert checked_item.reserve(buyer=10).outcome == Outcome.RESERVED
    assert checked_item.leave(large, buyer=9) is Departed.LEFT_LINE
    assert "smallest_waiting" not in checked_item.item()


def test_one_leaves_the_line_of_an_item_that_was_lost_without_leaving_a_part_of_it(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    checked_item.waiting(buyer=9)
    place = checked_item.waiting(buyer=8)
    checked_item.client.delete(checked_item.keys.item)
    with checked_item.unguarded():
        assert checked_item.leave(place, buyer=8) is Departed.LEFT_LINE
    assert checked_item.item() == {}
    assert checked_item.line() == ["9"]


def test_of_several_who_stay_the_fewest_units_count(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    place = checked_item.waiting(buyer=8, units=1)
    for buyer, units in ((9, 3), (10, 2), (11, 3)):
        checked_item.waiting(buyer=buyer, units=units)
    assert checked_item.leave(place, buyer=8) is Departed.LEFT_LINE
    assert checked_item.item()["smallest_waiting"] == "2"
