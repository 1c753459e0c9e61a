"""confirm.lua: each word, each precedence, and that a payment is recorded even if the store is full."""

import pytest

from seckill import ledger
from seckill.ledger_words import Confirmed, ReleaseReason
from tests.seckill.checked_item import ITEM_ID, CheckedItem


@pytest.mark.parametrize("quantity", [5, None])
def test_confirmed_units_move_from_held_to_sold(checked_item: CheckedItem, quantity: int | None) -> None:
    checked_item.publish(quantity=quantity, per_buyer_max=4)
    reservation_id = checked_item.new_id()
    deadline_ms = checked_item.reserve(reservation_id, buyer=7, units=2).deadline_ms
    checked_item.held(buyer=8)
    assert checked_item.confirm(reservation_id) == Confirmed.CONFIRMED
    assert checked_item.counters() == ("2" if quantity else None, "1", "2")
    assert checked_item.holds()[str(reservation_id)] == f"sold:7:2:{deadline_ms}"
    assert checked_item.buyers() == {"7": "2", "8": "1"}


def test_a_second_confirm_changes_nothing(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.sold()
    assert checked_item.confirm(reservation_id) == Confirmed.ALREADY_CONFIRMED


@pytest.mark.parametrize("reason", list(ReleaseReason))
def test_a_released_hold_has_ended(checked_item: CheckedItem, reason: ReleaseReason) -> None:
    checked_item.publish()
    reservation_id = checked_item.sold() if reason is ReleaseReason.REFUNDED else checked_item.held()
    checked_item.release(reservation_id, reason)
    assert checked_item.confirm(reservation_id) == Confirmed.HOLD_ENDED


def test_a_full_store_still_confirms(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.held()
    with checked_item.store.full():
        assert checked_item.confirm(reservation_id) == Confirmed.CONFIRMED
    assert checked_item.counters() == ("4", "0", "1")


def test_many_are_confirmed_in_one_call_with_an_answer_for_each(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=5)
    ids = [checked_item.held(), checked_item.new_id(), checked_item.sold(), checked_item.ended()]
    assert ledger.confirm(item_id=ITEM_ID, reservation_ids=ids) == [
        Confirmed.CONFIRMED,
        Confirmed.UNKNOWN_HOLD,
        Confirmed.ALREADY_CONFIRMED,
        Confirmed.HOLD_ENDED,
    ]
    assert ledger.confirm(item_id=ITEM_ID, reservation_ids=[]) == []
    checked_item.check_invariants()
