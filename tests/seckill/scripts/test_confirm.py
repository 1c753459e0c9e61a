"""confirm.lua: each word, each precedence, and that a payment is recorded even if the store is full."""

import pytest

from seckill import ledger
from seckill.ledger_words import Confirmed, ReleaseReason
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from tests.seckill.checked_item import DAMAGED_NUMBERS, ITEM_ID, CheckedItem, says


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


def test_an_item_that_was_never_published_is_unavailable(checked_item: CheckedItem) -> None:
    assert checked_item.confirm(checked_item.new_id()) == Confirmed.UNAVAILABLE


@pytest.mark.parametrize("part", ["held", "sold"])
@pytest.mark.parametrize("state", ["held", "sold", "ended"])
def test_an_item_that_lost_a_counter_is_unavailable_whatever_the_hold(
    checked_item: CheckedItem, part: str, state: str
) -> None:
    checked_item.publish()
    reservation_id = getattr(checked_item, state)()
    checked_item.client.hdel(checked_item.keys.item, part)
    assert checked_item.confirm(reservation_id) == Confirmed.UNAVAILABLE


def test_unavailable_comes_before_unknown_hold(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.client.delete(checked_item.keys.item)
    assert checked_item.confirm(checked_item.new_id()) == Confirmed.UNAVAILABLE


def test_a_hold_that_the_store_does_not_have_is_unknown(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held()
    assert checked_item.confirm(checked_item.new_id()) == Confirmed.UNKNOWN_HOLD


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


@pytest.mark.parametrize("incarnation", [None, "0" * 40])
@pytest.mark.parametrize("state", ["held", "sold", "ended"])
def test_an_item_that_is_not_verified_is_unavailable_whatever_the_hold(
    checked_item: CheckedItem, state: str, incarnation: str | None
) -> None:
    checked_item.publish()
    reservation_id = getattr(checked_item, state)()
    checked_item.become_unverified(incarnation=incarnation)
    assert checked_item.confirm(reservation_id) == Confirmed.UNAVAILABLE
    assert checked_item.confirm(checked_item.new_id()) == Confirmed.UNAVAILABLE


@pytest.mark.parametrize("incarnation", [None, "0" * 40])
def test_a_repair_confirms_before_the_item_is_verified(checked_item: CheckedItem, incarnation: str | None) -> None:
    checked_item.publish()
    reservation_id = checked_item.held()
    checked_item.become_unverified(incarnation=incarnation)
    assert checked_item.confirm(reservation_id, even_unverified=True) == Confirmed.CONFIRMED


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


@pytest.mark.parametrize("hold", ["", "held:7:1:soon", "held:7::1767226500012", "held:7:1:1767226500012:more"])
def test_a_malformed_hold_is_a_fault_and_stays(checked_item: CheckedItem, hold: str) -> None:
    checked_item.publish()
    damaged = checked_item.held()
    checked_item.client.hset(checked_item.keys.holds, str(damaged), hold)
    with pytest.raises(StoreUnreachable, match=says("the hold is malformed")):
        checked_item.confirm(damaged)


@pytest.mark.parametrize(("keys", "args"), [(1, 2), (3, 2), (2, 1), (2, 3)])
def test_confirm_takes_two_keys_and_two_arguments(checked_item: CheckedItem, keys: int, args: int) -> None:
    checked_item.publish()
    args_given = [str(checked_item.held()), "1", "more"][:args]
    message = "confirm takes 2 keys and 2 arguments"
    checked_item.is_refused(scripts.CONFIRM, keys=keys, args=args_given, message=message)


# --- damaged values: found before the first write ---


@pytest.mark.parametrize("part", ["held", "sold"])
@pytest.mark.parametrize("value", DAMAGED_NUMBERS)
def test_an_item_with_a_damaged_counter_is_unavailable(checked_item: CheckedItem, part: str, value: str) -> None:
    checked_item.publish()
    reservation_id = checked_item.held()
    checked_item.client.hset(checked_item.keys.item, part, value)
    assert checked_item.confirm(reservation_id) == Confirmed.UNAVAILABLE


@pytest.mark.parametrize("value", ["100000000000000", "-1", "10"])
def test_a_counter_may_be_any_number_that_the_store_can_count_with(checked_item: CheckedItem, value: str) -> None:
    checked_item.publish(quantity=None, per_buyer_max=5)
    reservation_id = checked_item.held()
    checked_item.client.hset(checked_item.keys.item, "sold", value)
    with checked_item.unguarded():
        assert checked_item.confirm(reservation_id) == Confirmed.CONFIRMED


@pytest.mark.parametrize("units", ["007", "1000000000000000"])
def test_a_hold_with_units_that_the_store_cannot_count_with_is_a_fault(checked_item: CheckedItem, units: str) -> None:
    checked_item.publish()
    damaged = checked_item.held()
    checked_item.client.hset(checked_item.keys.holds, str(damaged), f"held:7:{units}:1767226500012")
    with pytest.raises(StoreUnreachable, match=says("the hold is malformed")):
        checked_item.confirm(damaged)
