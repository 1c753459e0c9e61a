"""release.lua: each word, each precedence."""

import pytest

from seckill import ledger
from seckill.ledger_words import Released, ReleaseReason
from tests.seckill.checked_item import ITEM_ID, CheckedItem

GIVES_BACK_WHAT_IS_HELD = list(ReleaseReason)
LEAVES_WHAT_IS_SOLD = [ReleaseReason.EXPIRED, ReleaseReason.CANCELLED, ReleaseReason.REJECTED]


@pytest.mark.parametrize("reason", GIVES_BACK_WHAT_IS_HELD)
@pytest.mark.parametrize("quantity", [9, None])
def test_released_units_are_left_again(item: CheckedItem, reason: ReleaseReason, quantity: int | None) -> None:
    item.publish(quantity=quantity, per_buyer_max=5)
    reservation_id = item.new_id()
    deadline_ms = item.reserve(reservation_id, buyer=7, units=2).deadline_ms
    item.held(buyer=8, units=1)
    item.sold(buyer=8, units=3)
    assert item.release(reservation_id, reason) == Released.RELEASED
    assert item.counters() == ("5" if quantity else None, "1", "3")
    assert item.holds()[str(reservation_id)] == f"ended:7:2:{deadline_ms}"
    assert item.buyers() == {"8": "4"}


@pytest.mark.parametrize("quantity", [9, None])
def test_refunded_units_are_left_again(item: CheckedItem, quantity: int | None) -> None:
    item.publish(quantity=quantity, per_buyer_max=5)
    item.held(buyer=7, units=1)
    item.sold(buyer=8, units=1)
    assert item.release(item.sold(buyer=7, units=2), ReleaseReason.REFUNDED) == Released.RELEASED
    assert item.counters() == ("7" if quantity else None, "1", "1")
    assert item.buyers() == {"7": "1", "8": "1"}


def test_a_hold_whose_buyer_is_not_counted_is_released_too(item: CheckedItem) -> None:
    item.publish()
    reservation_id = item.held()
    item.client.delete(item.keys.buyers)
    assert item.release(reservation_id) == Released.RELEASED


@pytest.mark.parametrize("reason", LEAVES_WHAT_IS_SOLD)
def test_only_a_refund_releases_sold_units(item: CheckedItem, reason: ReleaseReason) -> None:
    item.publish()
    reservation_id = item.sold()
    assert item.release(reservation_id, reason) == Released.ALREADY_CONFIRMED


def test_many_are_released_in_one_call_with_an_answer_for_each(item: CheckedItem) -> None:
    item.publish(per_buyer_max=5)
    ids = [item.held(), item.new_id(), item.ended(), item.sold()]
    answers = ledger.release(item_id=ITEM_ID, reservation_ids=ids, reason=ReleaseReason.EXPIRED)
    assert answers == [
        Released.RELEASED,
        Released.UNKNOWN_HOLD,
        Released.ALREADY_RELEASED,
        Released.ALREADY_CONFIRMED,
    ]
    assert ledger.release(item_id=ITEM_ID, reservation_ids=[], reason=ReleaseReason.EXPIRED) == []
    item.check_invariants()
