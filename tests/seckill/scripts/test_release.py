"""release.lua: each word, each precedence, and that units come back even if the store is full."""

import pytest

from seckill import ledger
from seckill.ledger_words import Released, ReleaseReason
from seckill.outcomes import Outcome
from tests.seckill.checked_item import ITEM_ID, CheckedItem

GIVES_BACK_WHAT_IS_HELD = list(ReleaseReason)
LEAVES_WHAT_IS_SOLD = [ReleaseReason.EXPIRED, ReleaseReason.CANCELLED, ReleaseReason.REJECTED]


@pytest.mark.parametrize("reason", GIVES_BACK_WHAT_IS_HELD)
@pytest.mark.parametrize("quantity", [9, None])
def test_released_units_are_left_again(checked_item: CheckedItem, reason: ReleaseReason, quantity: int | None) -> None:
    checked_item.publish(quantity=quantity, per_buyer_max=5)
    reservation_id = checked_item.new_id()
    deadline_ms = checked_item.reserve(reservation_id, buyer=7, units=2).deadline_ms
    checked_item.held(buyer=8, units=1)
    checked_item.sold(buyer=8, units=3)
    assert checked_item.release(reservation_id, reason) == Released.RELEASED
    assert checked_item.counters() == ("5" if quantity else None, "1", "3")
    assert checked_item.holds()[str(reservation_id)] == f"ended:7:2:{deadline_ms}"
    assert checked_item.buyers() == {"8": "4"}


@pytest.mark.parametrize("quantity", [9, None])
def test_refunded_units_are_left_again(checked_item: CheckedItem, quantity: int | None) -> None:
    checked_item.publish(quantity=quantity, per_buyer_max=5)
    checked_item.held(buyer=7, units=1)
    checked_item.sold(buyer=8, units=1)
    assert checked_item.release(checked_item.sold(buyer=7, units=2), ReleaseReason.REFUNDED) == Released.RELEASED
    assert checked_item.counters() == ("7" if quantity else None, "1", "1")
    assert checked_item.buyers() == {"7": "1", "8": "1"}


def test_released_units_no_longer_count_for_the_buyer(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=2)
    first, _ = checked_item.held(), checked_item.held()
    assert checked_item.reserve().outcome == Outcome.LIMIT_REACHED
    checked_item.release(first)
    assert checked_item.buyers() == {"7": "1"}
    assert checked_item.reserve(units=2).outcome == Outcome.LIMIT_REACHED
    assert checked_item.reserve(units=1).outcome == Outcome.RESERVED


@pytest.mark.parametrize("part", ["held", "sold"])
def test_an_unlimited_item_that_lost_a_counter_is_unavailable(checked_item: CheckedItem, part: str) -> None:
    checked_item.publish(quantity=None)
    reservation_id = checked_item.held()
    checked_item.client.hdel(checked_item.keys.item, part)
    assert checked_item.release(reservation_id) == Released.UNAVAILABLE


@pytest.mark.parametrize("first", list(ReleaseReason))
@pytest.mark.parametrize("second", list(ReleaseReason))
def test_a_second_release_changes_nothing(
    checked_item: CheckedItem, first: ReleaseReason, second: ReleaseReason
) -> None:
    checked_item.publish()
    checked_item.held(buyer=8)
    reservation_id = checked_item.held()
    checked_item.release(reservation_id, first)
    assert checked_item.release(reservation_id, second) == Released.ALREADY_RELEASED


def test_a_hold_whose_buyer_is_not_counted_is_released_too(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.held()
    checked_item.client.delete(checked_item.keys.buyers)
    assert checked_item.release(reservation_id) == Released.RELEASED


@pytest.mark.parametrize("reason", LEAVES_WHAT_IS_SOLD)
def test_only_a_refund_releases_sold_units(checked_item: CheckedItem, reason: ReleaseReason) -> None:
    checked_item.publish()
    reservation_id = checked_item.sold()
    assert checked_item.release(reservation_id, reason) == Released.ALREADY_CONFIRMED


@pytest.mark.parametrize("reason", [ReleaseReason.EXPIRED, ReleaseReason.REFUNDED])
def test_a_full_store_still_releases(checked_item: CheckedItem, reason: ReleaseReason) -> None:
    checked_item.publish()
    reservation_id = checked_item.held() if reason is ReleaseReason.EXPIRED else checked_item.sold()
    with checked_item.store.full():
        assert checked_item.release(reservation_id, reason) == Released.RELEASED
    assert checked_item.counters() == ("5", "0", "0")


def test_many_are_released_in_one_call_with_an_answer_for_each(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=5)
    ids = [checked_item.held(), checked_item.new_id(), checked_item.ended(), checked_item.sold()]
    answers = ledger.release(item_id=ITEM_ID, reservation_ids=ids, reason=ReleaseReason.EXPIRED)
    assert answers == [
        Released.RELEASED,
        Released.UNKNOWN_HOLD,
        Released.ALREADY_RELEASED,
        Released.ALREADY_CONFIRMED,
    ]
    assert ledger.release(item_id=ITEM_ID, reservation_ids=[], reason=ReleaseReason.EXPIRED) == []
    checked_item.check_invariants()
