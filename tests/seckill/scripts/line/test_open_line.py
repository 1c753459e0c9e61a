"""open_line.lua: an item gets a waiting list, and after a rebuild one that knows who waits."""

import pytest

from seckill.ledger_words import HandedOn, Joined, LineOpened
from seckill.outcomes import Outcome
from tests.seckill.checked_item import CheckedItem


def test_an_item_has_a_line_from_then_on(item: CheckedItem) -> None:
    item.publish(quantity=1)
    item.held()
    assert item.join(buyer=8).word is Joined.NO_LINE
    assert item.open_line() is LineOpened.OPENED
    assert item.item()["waiting_list"] == "1"
    assert item.join(buyer=8).word is Joined.JOINED


@pytest.mark.parametrize("units", [1, 2, 3])
def test_after_a_rebuild_newcomers_do_not_get_what_somebody_waits_for(item: CheckedItem, units: int) -> None:
    item.publish_with_line(quantity=3, per_buyer_max=3)
    reservation_id = item.held(buyer=7, units=3)
    item.waiting(buyer=8, units=3)
    item.waiting(buyer=9, units=2)
    with item.unguarded():
        item.client.hdel(item.keys.item, "waiting_list", "smallest_waiting")
    assert item.open_line() is LineOpened.OPENED
    item.release(reservation_id)
    assert item.reserve(buyer=10, units=units).outcome == Outcome.HELD_BY_OTHERS
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.buyers() == {"9": "2"} or item.buyers() == {"8": "3"}


def test_a_number_that_nobody_waits_for_is_forgotten(item: CheckedItem) -> None:
    item.publish_with_line()
    item.client.hset(item.keys.item, "smallest_waiting", "1")
    assert item.reserve().outcome == Outcome.HELD_BY_OTHERS
    assert item.open_line() is LineOpened.OPENED
    assert item.reserve().outcome == Outcome.RESERVED
