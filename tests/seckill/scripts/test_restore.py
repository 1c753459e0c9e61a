"""restore.lua: each word, each precedence, each state, and that orders are restored even if the store is full."""

import pytest

from seckill import ledger
from seckill.items import item_state
from seckill.ledger_words import Confirmed, Released, ReleaseReason, Restoration, RestoreAs, Restored
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from tests.seckill.checked_item import ITEM_ID, CheckedItem, says

DEADLINE_MS = 1767226500012
COUNTED = [RestoreAs.HELD, RestoreAs.SOLD]
TAKEN = [*COUNTED, RestoreAs.LATE_PAYMENT]


def after(state: RestoreAs, *, left: int | None, units: int) -> tuple[str | None, str, str]:
    """The counters of an item that had `left` units and nothing held or sold, with so many restored."""
    now_left = None if left is None else str(left - units)
    return (now_left, str(units), "0") if state is RestoreAs.HELD else (now_left, "0", str(units))


# --- restored ---


@pytest.mark.parametrize("state", TAKEN)
@pytest.mark.parametrize("quantity", [9, None])
def test_a_hold_that_the_store_lost_is_there_again_and_counted(
    checked_item: CheckedItem, state: RestoreAs, quantity: int | None
) -> None:
    checked_item.publish(quantity=quantity, per_buyer_max=3)
    reservation_id = checked_item.new_id()
    answer = checked_item.restore(reservation_id, state=state, buyer=7, units=2, deadline_ms=DEADLINE_MS)
    assert answer == Restored.RESTORED
    written = "held" if state is RestoreAs.HELD else "sold"
    assert checked_item.holds() == {str(reservation_id): f"{written}:7:2:{DEADLINE_MS}"}
    assert checked_item.buyers() == {"7": "2"}
    assert checked_item.counters() == after(state, left=quantity, units=2)


@pytest.mark.parametrize("state", TAKEN)
@pytest.mark.parametrize("quantity", [9, None])
def test_a_released_hold_is_restored(checked_item: CheckedItem, state: RestoreAs, quantity: int | None) -> None:
    checked_item.publish(quantity=quantity, per_buyer_max=5)
    reservation_id = checked_item.ended(buyer=7, units=2)
    checked_item.held(buyer=7, units=1)
    checked_item.sold(buyer=8, units=3)
    assert (
        checked_item.restore(reservation_id, state=state, buyer=7, units=2, deadline_ms=DEADLINE_MS)
        == Restored.RESTORED
    )
    held, sold = ("3", "3") if state is RestoreAs.HELD else ("1", "5")
    assert checked_item.counters() == ("3" if quantity else None, held, sold)
    assert checked_item.buyers() == {"7": "3", "8": "3"}
    assert checked_item.holds()[str(reservation_id)].startswith("held:" if state is RestoreAs.HELD else "sold:")


@pytest.mark.parametrize("quantity", [5, None])
def test_a_hold_that_had_ended_comes_back_as_ended_and_counts_nothing(
    checked_item: CheckedItem, quantity: int | None
) -> None:
    checked_item.publish(quantity=quantity)
    reservation_id = checked_item.new_id()
    answer = checked_item.restore(reservation_id, state=RestoreAs.ENDED, buyer=7, units=2, deadline_ms=DEADLINE_MS)
    assert answer == Restored.RESTORED
    assert checked_item.holds() == {str(reservation_id): f"ended:7:2:{DEADLINE_MS}"}
    assert checked_item.buyers() == {}
    assert checked_item.counters() == ("5" if quantity else None, "0", "0")
    assert checked_item.reserve(reservation_id).outcome == Outcome.HOLD_ENDED


def test_an_ended_hold_is_restored_though_nothing_is_left(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=1)
    checked_item.sold()
    assert checked_item.restore(state=RestoreAs.ENDED, buyer=8) == Restored.RESTORED


def test_a_restored_hold_behaves_like_any_other(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=4)
    first, second, third = checked_item.new_id(), checked_item.new_id(), checked_item.new_id()
    checked_item.restore(first, state=RestoreAs.HELD, buyer=7)
    checked_item.restore(second, state=RestoreAs.HELD, buyer=8)
    checked_item.restore(third, state=RestoreAs.SOLD, buyer=9)
    assert checked_item.reserve(first).outcome == Outcome.ALREADY_RESERVED
    assert checked_item.confirm(first) == Confirmed.CONFIRMED
    assert checked_item.release(second) == Released.RELEASED
    assert checked_item.release(third, ReleaseReason.REFUNDED) == Released.RELEASED
    assert checked_item.counters() == ("3", "0", "1")


@pytest.mark.parametrize("state", COUNTED)
def test_a_known_order_is_restored_beyond_the_present_limit(checked_item: CheckedItem, state: RestoreAs) -> None:
    checked_item.publish(per_buyer_max=1)
    checked_item.held()
    assert checked_item.restore(state=state) == Restored.RESTORED
    assert checked_item.buyers() == {"7": "2"}


@pytest.mark.parametrize("state", [*COUNTED, RestoreAs.ENDED])
def test_orders_are_restored_before_the_item_is_verified(checked_item: CheckedItem, state: RestoreAs) -> None:
    checked_item.publish(verified=False)
    assert checked_item.restore(state=state) == Restored.RESTORED


@pytest.mark.parametrize("state", TAKEN)
def test_the_last_units_can_be_restored_and_not_one_more(checked_item: CheckedItem, state: RestoreAs) -> None:
    checked_item.publish(quantity=2, per_buyer_max=9)
    assert checked_item.restore(state=state, units=2) == Restored.RESTORED
    assert checked_item.restore(state=state, units=1) == Restored.TOO_FEW_LEFT
    assert checked_item.counters()[0] == "0"


# --- already restored ---


@pytest.mark.parametrize("state", list(RestoreAs))
@pytest.mark.parametrize("there", ["held", "sold"])
def test_a_hold_that_is_there_stays_as_it_is(checked_item: CheckedItem, state: RestoreAs, there: str) -> None:
    checked_item.publish()
    reservation_id = getattr(checked_item, there)()
    assert checked_item.restore(reservation_id, state=state, units=1) == Restored.ALREADY_RESTORED


def test_an_ended_hold_is_not_ended_again(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.ended()
    assert checked_item.restore(reservation_id, state=RestoreAs.ENDED) == Restored.ALREADY_RESTORED


@pytest.mark.parametrize("state", list(RestoreAs))
def test_a_second_restore_changes_nothing(checked_item: CheckedItem, state: RestoreAs) -> None:
    checked_item.publish()
    reservation_id = checked_item.new_id()
    assert checked_item.restore(reservation_id, state=state) == Restored.RESTORED
    assert checked_item.restore(reservation_id, state=state) == Restored.ALREADY_RESTORED


def test_already_restored_comes_before_every_refusal(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=1, per_buyer_max=1)
    reservation_id = checked_item.sold()
    for state in RestoreAs:
        assert checked_item.restore(reservation_id, state=state) == Restored.ALREADY_RESTORED


# --- refused ---


def test_a_late_payment_is_not_taken_beyond_the_limit(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=9, per_buyer_max=3)
    reservation_id = checked_item.ended(units=2)
    checked_item.held(units=2)
    late = RestoreAs.LATE_PAYMENT
    assert checked_item.restore(reservation_id, state=late, units=2) == Restored.LIMIT_REACHED
    assert checked_item.restore(state=late, units=4, buyer=8) == Restored.LIMIT_REACHED
    assert checked_item.restore(state=late, units=2, buyer=8) == Restored.RESTORED
    assert checked_item.restore(state=late, units=1, buyer=8) == Restored.RESTORED
    assert checked_item.restore(state=late, units=1, buyer=8) == Restored.LIMIT_REACHED


def test_the_limit_comes_before_too_few_left(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=1, per_buyer_max=1)
    checked_item.held()
    assert checked_item.restore(state=RestoreAs.LATE_PAYMENT, buyer=7) == Restored.LIMIT_REACHED
    assert checked_item.restore(state=RestoreAs.LATE_PAYMENT, buyer=8) == Restored.TOO_FEW_LEFT


@pytest.mark.parametrize("state", TAKEN)
def test_units_that_others_have_by_now_are_not_taken_from_them(checked_item: CheckedItem, state: RestoreAs) -> None:
    checked_item.publish(quantity=2)
    reservation_id = checked_item.ended(buyer=7, units=2)
    checked_item.held(buyer=8)
    assert checked_item.restore(reservation_id, state=state, units=2) == Restored.TOO_FEW_LEFT


# --- unavailable ---


@pytest.mark.parametrize("state", list(RestoreAs))
def test_an_item_that_was_never_published_is_unavailable(checked_item: CheckedItem, state: RestoreAs) -> None:
    assert checked_item.restore(state=state) == Restored.UNAVAILABLE


@pytest.mark.parametrize("state", list(RestoreAs))
@pytest.mark.parametrize("part", ["held", "sold", "reservations", "quantity", "left", "per_buyer_max"])
def test_an_item_that_lost_a_part_is_unavailable(checked_item: CheckedItem, state: RestoreAs, part: str) -> None:
    checked_item.publish()
    checked_item.client.hdel(checked_item.keys.item, part)
    assert checked_item.restore(state=state) == Restored.UNAVAILABLE


@pytest.mark.parametrize("part", ["held", "sold", "reservations", "per_buyer_max"])
def test_an_unlimited_item_that_lost_a_part_is_unavailable(checked_item: CheckedItem, part: str) -> None:
    checked_item.publish(quantity=None)
    checked_item.client.hdel(checked_item.keys.item, part)
    assert checked_item.restore(state=RestoreAs.SOLD) == Restored.UNAVAILABLE


def test_unavailable_comes_before_already_restored(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.held()
    checked_item.client.hdel(checked_item.keys.item, "left")
    assert checked_item.restore(reservation_id, state=RestoreAs.HELD) == Restored.UNAVAILABLE


@pytest.mark.parametrize("incarnation", [None, "0" * 40])
def test_a_late_payment_waits_until_the_item_is_verified(checked_item: CheckedItem, incarnation: str | None) -> None:
    checked_item.publish()
    reservation_id = checked_item.ended()
    item_state.mark_unverified(item_id=ITEM_ID)
    if incarnation:
        checked_item.client.hset(checked_item.keys.item, "incarnation", incarnation)
    assert checked_item.restore(reservation_id, state=RestoreAs.LATE_PAYMENT) == Restored.UNAVAILABLE
    checked_item.mark_verified()
    assert checked_item.restore(reservation_id, state=RestoreAs.LATE_PAYMENT) == Restored.RESTORED


@pytest.mark.parametrize("lost", ["buyers", "holds"])
@pytest.mark.parametrize("state", ["held", "sold"])
def test_a_late_payment_does_not_create_a_lost_key_again(checked_item: CheckedItem, lost: str, state: str) -> None:
    checked_item.publish()
    reservation_id = checked_item.ended()
    getattr(checked_item, state)(buyer=8)
    checked_item.client.delete(getattr(checked_item.keys, lost))
    assert checked_item.restore(reservation_id, state=RestoreAs.LATE_PAYMENT) == Restored.UNAVAILABLE
    assert checked_item.reserve().outcome == Outcome.UNAVAILABLE


def test_a_late_payment_does_not_create_lost_ended_holds_again(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.ended()
    checked_item.client.delete(checked_item.keys.holds)
    assert checked_item.restore(reservation_id, state=RestoreAs.LATE_PAYMENT) == Restored.UNAVAILABLE


@pytest.mark.parametrize("lost", ["buyers", "holds"])
def test_a_known_order_is_restored_though_a_key_is_lost(checked_item: CheckedItem, lost: str) -> None:
    checked_item.publish()
    checked_item.held()
    checked_item.client.delete(getattr(checked_item.keys, lost))
    with checked_item.unguarded():
        assert checked_item.restore(state=RestoreAs.ENDED) == Restored.RESTORED


# --- a full store, many at once, and faults ---


@pytest.mark.parametrize("state", list(RestoreAs))
def test_a_full_store_still_restores(checked_item: CheckedItem, state: RestoreAs) -> None:
    checked_item.publish()
    with checked_item.store.full():
        assert checked_item.restore(state=state) == Restored.RESTORED
    assert len(checked_item.holds()) == 1


def test_many_are_restored_in_one_call_with_an_answer_for_each(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=3, per_buyer_max=2)
    there = checked_item.held()
    lost = [checked_item.new_id() for _ in range(4)]
    wanted = [
        Restoration(there, 7, 1, DEADLINE_MS, RestoreAs.HELD),
        Restoration(lost[0], 8, 2, DEADLINE_MS, RestoreAs.SOLD),
        Restoration(lost[1], 9, 1, DEADLINE_MS, RestoreAs.HELD),
        Restoration(lost[2], 9, 1, DEADLINE_MS, RestoreAs.ENDED),
        Restoration(lost[3], 7, 2, DEADLINE_MS, RestoreAs.LATE_PAYMENT),
    ]
    assert ledger.restore_many(item_id=ITEM_ID, restorations=wanted) == [
        Restored.ALREADY_RESTORED,
        Restored.RESTORED,
        Restored.TOO_FEW_LEFT,
        Restored.RESTORED,
        Restored.LIMIT_REACHED,
    ]
    assert ledger.restore_many(item_id=ITEM_ID, restorations=[]) == []
    checked_item.restored |= {str(lost[0]), str(lost[2])}
    checked_item.check_invariants()


@pytest.mark.parametrize("units", ["0", "-1", "1.5", "", "many", "1e400", "nan"])
def test_units_that_are_not_an_integer_or_less_than_one_are_refused(checked_item: CheckedItem, units: str) -> None:
    checked_item.publish(quantity=None)
    args = [str(checked_item.new_id()), "7", units, str(DEADLINE_MS), "held"]
    checked_item.is_refused(scripts.RESTORE, keys=3, args=args, message="units are whole, 1 or more")


# --- damaged values: found before the first write ---


@pytest.mark.parametrize("state", TAKEN)
@pytest.mark.parametrize("count", ["1.5", "007", "many"])
def test_a_damaged_count_of_the_buyer_is_a_fault_and_nothing_changes(
    checked_item: CheckedItem, count: str, state: RestoreAs
) -> None:
    checked_item.publish(per_buyer_max=9)
    checked_item.held(buyer=7)
    checked_item.client.hset(checked_item.keys.buyers, "7", count)
    with pytest.raises(StoreUnreachable, match=says("the count of the buyer is malformed")):
        checked_item.restore(state=state, buyer=7)
