"""open_line.lua: an item gets a waiting list, and after a rebuild one that knows who waits."""

import pytest

from seckill.ledger_words import HandedOn, Joined, LineOpened
from seckill.outcomes import Outcome
from tests.seckill.checked_item import CheckedItem


def test_an_item_that_is_not_there_gets_no_line(checked_item: CheckedItem) -> None:
    assert checked_item.open_line() is LineOpened.UNAVAILABLE


def test_an_item_has_a_line_from_then_on(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=1)
    checked_item.held()
    assert checked_item.join(buyer=8).word is Joined.NO_LINE
    assert checked_item.open_line() is LineOpened.OPENED
    assert checked_item.item()["waiting_list"] == "1"
    assert checked_item.join(buyer=8).word is Joined.JOINED


def test_opening_it_again_changes_nothing(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=1)
    checked_item.held()
    checked_item.waiting(buyer=8)
    before = checked_item.dump()
    assert checked_item.open_line() is LineOpened.OPENED
    assert checked_item.dump() == before


@pytest.mark.parametrize("units", [1, 2, 3])
def test_after_a_rebuild_newcomers_do_not_get_what_somebody_waits_for(checked_item: CheckedItem, units: int) -> None:
    checked_item.publish_with_line(quantity=3, per_buyer_max=3)
    reservation_id = checked_item.held(buyer=7, units=3)
    checked_item.waiting(buyer=8, units=3)
    checked_item.waiting(buyer=9, units=2)
    with checked_item.unguarded():
        checked_item.client.hdel(checked_item.keys.item, "waiting_list", "smallest_waiting")
    assert checked_item.open_line() is LineOpened.OPENED
    checked_item.release(reservation_id)
    assert checked_item.reserve(buyer=10, units=units).outcome == Outcome.HELD_BY_OTHERS
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.buyers() == {"9": "2"} or checked_item.buyers() == {"8": "3"}


def test_a_number_that_nobody_waits_for_is_forgotten(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line()
    checked_item.client.hset(checked_item.keys.item, "smallest_waiting", "1")
    assert checked_item.reserve().outcome == Outcome.HELD_BY_OTHERS
    assert checked_item.open_line() is LineOpened.OPENED
    assert checked_item.reserve().outcome == Outcome.RESERVED


def test_a_full_store_opens_it_too(checked_item: CheckedItem) -> None:
    checked_item.publish()
    with checked_item.store.full():
        assert checked_item.open_line() is LineOpened.OPENED
