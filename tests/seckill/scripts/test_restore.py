"""restore.lua: each word, each precedence, each state."""

import pytest

from seckill import ledger
from seckill.ledger_words import Restoration, RestoreAs, Restored
from seckill.outcomes import Outcome
from tests.seckill.checked_item import DEADLINE_MS, ITEM_ID, CheckedItem

LATE = RestoreAs.LATE_PAYMENT
COUNTED = [RestoreAs.HELD, RestoreAs.SOLD]
TAKEN = [*COUNTED, LATE]
each_taken = pytest.mark.parametrize("state", TAKEN)
each_state = pytest.mark.parametrize("state", list(RestoreAs))
each_quantity = pytest.mark.parametrize("quantity", [9, None])


# --- restored ---


@each_taken
@each_quantity
def test_a_hold_that_the_store_lost_is_there_again_and_counted(
    item: CheckedItem, state: RestoreAs, quantity: int | None
) -> None:
    item.publish(quantity=quantity, per_buyer_max=3)
    reservation_id = item.new_id()
    assert item.restore(reservation_id, state=state, buyer=7, units=2) == Restored.RESTORED
    is_held = state is RestoreAs.HELD
    assert item.holds() == {str(reservation_id): f"{'held' if is_held else 'sold'}:7:2:{DEADLINE_MS}"}
    assert item.buyers() == {"7": "2"}
    assert item.counters() == ("7" if quantity else None, *(("2", "0") if is_held else ("0", "2")))


@each_taken
@each_quantity
def test_a_released_hold_is_restored(item: CheckedItem, state: RestoreAs, quantity: int | None) -> None:
    item.publish(quantity=quantity, per_buyer_max=5)
    reservation_id = item.ended(buyer=7, units=2)
    item.held(buyer=7, units=1)
    item.sold(buyer=8, units=3)
    assert item.restore(reservation_id, state=state, buyer=7, units=2) == Restored.RESTORED
    is_held = state is RestoreAs.HELD
    assert item.counters() == ("3" if quantity else None, *(("3", "3") if is_held else ("1", "5")))
    assert item.buyers() == {"7": "3", "8": "3"}
    assert item.holds()[str(reservation_id)].startswith("held:" if is_held else "sold:")


@each_quantity
def test_a_hold_that_had_ended_comes_back_as_ended_and_counts_nothing(item: CheckedItem, quantity: int | None) -> None:
    item.publish(quantity=quantity)
    reservation_id = item.new_id()
    assert item.restore(reservation_id, state=RestoreAs.ENDED, buyer=7, units=2) == Restored.RESTORED
    assert item.holds() == {str(reservation_id): f"ended:7:2:{DEADLINE_MS}"}
    assert item.buyers() == {}
    assert item.counters() == ("9" if quantity else None, "0", "0")
    assert item.reserve(reservation_id).outcome == Outcome.HOLD_ENDED


@pytest.mark.parametrize("state", [*COUNTED, RestoreAs.ENDED])
def test_a_known_order_is_restored_beyond_the_limit_and_before_the_item_is_verified(
    item: CheckedItem, state: RestoreAs
) -> None:
    item.publish(per_buyer_max=1)
    item.held()
    item.become_unverified(incarnation=None)
    assert item.restore(state=state) == Restored.RESTORED
    assert item.buyers() == {"7": "2" if state in COUNTED else "1"}


@each_taken
def test_the_last_units_can_be_restored_and_not_one_more(item: CheckedItem, state: RestoreAs) -> None:
    item.publish(quantity=3, per_buyer_max=9)
    ended = item.ended(buyer=7, units=2)
    item.held(buyer=8)
    assert item.restore(state=state, units=2) == Restored.RESTORED
    # Units that others have by now are not taken from them.
    assert item.restore(state=state, units=1) == Restored.TOO_FEW_LEFT
    assert item.restore(ended, state=state, units=2) == Restored.TOO_FEW_LEFT
    assert item.counters()[0] == "0"


# --- already restored ---


@each_state
def test_a_hold_that_is_there_stays_as_it_is_before_every_refusal(item: CheckedItem, state: RestoreAs) -> None:
    item.publish(quantity=3, per_buyer_max=1)
    known = [item.held(buyer=7), item.sold(buyer=8)]
    restored = item.new_id()
    assert item.restore(restored, state=state, buyer=9) == Restored.RESTORED
    for reservation_id in [*known, restored]:
        assert item.restore(reservation_id, state=state) == Restored.ALREADY_RESTORED


# --- a late payment is taken only where a reservation would be ---


def test_a_late_payment_is_not_taken_beyond_the_limit(item: CheckedItem) -> None:
    item.publish(quantity=8, per_buyer_max=3)
    reservation_id = item.ended(units=2)
    item.held(units=2)
    assert item.restore(reservation_id, state=LATE, units=2) == Restored.LIMIT_REACHED
    assert item.restore(state=LATE, units=4, buyer=8) == Restored.LIMIT_REACHED
    assert item.restore(state=LATE, units=2, buyer=8) == Restored.RESTORED
    assert item.restore(state=LATE, units=1, buyer=8) == Restored.RESTORED
    # Before too few left.
    assert item.restore(state=LATE, units=3, buyer=9) == Restored.RESTORED
    assert item.restore(state=LATE, units=1, buyer=8) == Restored.LIMIT_REACHED
    assert item.restore(state=LATE, units=1, buyer=10) == Restored.TOO_FEW_LEFT


@pytest.mark.parametrize("lost", ["buyers", "holds"])
def test_a_known_order_is_restored_though_a_key_is_lost(item: CheckedItem, lost: str) -> None:
    item.publish()
    item.held()
    item.lose(lost)
    with item.unguarded():
        assert item.restore(state=RestoreAs.ENDED) == Restored.RESTORED


# --- many at once ---


def test_many_are_restored_in_one_call_with_an_answer_for_each(item: CheckedItem) -> None:
    item.publish(quantity=3, per_buyer_max=2)
    there = item.held()
    lost = [item.new_id() for _ in range(4)]
    wanted = [
        Restoration(there, 7, 1, DEADLINE_MS, RestoreAs.HELD),
        Restoration(lost[0], 8, 2, DEADLINE_MS, RestoreAs.SOLD),
        Restoration(lost[1], 9, 1, DEADLINE_MS, RestoreAs.HELD),
        Restoration(lost[2], 9, 1, DEADLINE_MS, RestoreAs.ENDED),
        Restoration(lost[3], 7, 2, DEADLINE_MS, LATE),
    ]
    assert ledger.restore_many(item_id=ITEM_ID, restorations=wanted) == [
        Restored.ALREADY_RESTORED,
        Restored.RESTORED,
        Restored.TOO_FEW_LEFT,
        Restored.RESTORED,
        Restored.LIMIT_REACHED,
    ]
    assert ledger.restore_many(item_id=ITEM_ID, restorations=[]) == []
    item.restored |= {str(lost[0]), str(lost[2])}
    item.check_invariants()
