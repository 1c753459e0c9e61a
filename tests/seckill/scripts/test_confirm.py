"""confirm.lua: each word, each precedence."""

import pytest

from seckill import ledger
from seckill.ledger_words import Confirmed
from tests.seckill.checked_item import ITEM_ID, CheckedItem


@pytest.mark.parametrize("quantity", [5, None])
def test_confirmed_units_move_from_held_to_sold(item: CheckedItem, quantity: int | None) -> None:
    item.publish(quantity=quantity, per_buyer_max=4)
    reservation_id = item.new_id()
    deadline_ms = item.reserve(reservation_id, buyer=7, units=2).deadline_ms
    item.held(buyer=8)
    assert item.confirm(reservation_id) == Confirmed.CONFIRMED
    assert item.counters() == ("2" if quantity else None, "1", "2")
    assert item.holds()[str(reservation_id)] == f"sold:7:2:{deadline_ms}"
    assert item.buyers() == {"7": "2", "8": "1"}


def test_many_are_confirmed_in_one_call_with_an_answer_for_each(item: CheckedItem) -> None:
    item.publish(per_buyer_max=5)
    ids = [item.held(), item.new_id(), item.sold(), item.ended()]
    assert ledger.confirm(item_id=ITEM_ID, reservation_ids=ids) == [
        Confirmed.CONFIRMED,
        Confirmed.UNKNOWN_HOLD,
        Confirmed.ALREADY_CONFIRMED,
        Confirmed.HOLD_ENDED,
    ]
    assert ledger.confirm(item_id=ITEM_ID, reservation_ids=[]) == []
    item.check_invariants()
