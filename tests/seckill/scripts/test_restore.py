"""restore.lua: each word, each precedence, each state, and that what was promised is written down on a full store."""

import pytest

from seckill import item_state, ledger, scripts
from seckill.ledger import Confirmed, Reason, Released, Restoration, Restore, Restored
from seckill.outcomes import Outcome
from tests.seckill.stage import ITEM_ID, Stage

DEADLINE_MS = 1767226500012
COUNTED = [Restore.HELD, Restore.SOLD]
TAKEN = [*COUNTED, Restore.LATE_PAYMENT]


def after(state: Restore, *, left: int | None, units: int) -> tuple[str | None, str, str]:
    """The counters of an item that had `left` units and nothing held or sold, with so many restored."""
    now_left = None if left is None else str(left - units)
    return (now_left, str(units), "0") if state is Restore.HELD else (now_left, "0", str(units))


# --- restored ---


@pytest.mark.parametrize("state", TAKEN)
@pytest.mark.parametrize("quantity", [9, None])
def test_a_hold_that_the_store_lost_is_there_again_and_counted(
    stage: Stage, state: Restore, quantity: int | None
) -> None:
    stage.publish(quantity=quantity, per_buyer_max=3)
    reservation_id = stage.new_id()
    answer = stage.restore(reservation_id, state=state, buyer=7, units=2, deadline_ms=DEADLINE_MS)
    assert answer == Restored.RESTORED
    written = "held" if state is Restore.HELD else "sold"
    assert stage.holds() == {str(reservation_id): f"{written}:7:2:{DEADLINE_MS}"}
    assert stage.buyers() == {"7": "2"}
    assert stage.counters() == after(state, left=quantity, units=2)


@pytest.mark.parametrize("state", TAKEN)
@pytest.mark.parametrize("quantity", [9, None])
def test_a_hold_that_was_given_back_is_taken_again(stage: Stage, state: Restore, quantity: int | None) -> None:
    stage.publish(quantity=quantity, per_buyer_max=5)
    reservation_id = stage.ended(buyer=7, units=2)
    stage.held(buyer=7, units=1)
    stage.sold(buyer=8, units=3)
    assert stage.restore(reservation_id, state=state, buyer=7, units=2, deadline_ms=DEADLINE_MS) == Restored.RESTORED
    held, sold = ("3", "3") if state is Restore.HELD else ("1", "5")
    assert stage.counters() == ("3" if quantity else None, held, sold)
    assert stage.buyers() == {"7": "3", "8": "3"}
    assert stage.holds()[str(reservation_id)].startswith("held:" if state is Restore.HELD else "sold:")


@pytest.mark.parametrize("quantity", [5, None])
def test_a_hold_that_had_ended_comes_back_as_ended_and_counts_nothing(stage: Stage, quantity: int | None) -> None:
    stage.publish(quantity=quantity)
    reservation_id = stage.new_id()
    answer = stage.restore(reservation_id, state=Restore.ENDED, buyer=7, units=2, deadline_ms=DEADLINE_MS)
    assert answer == Restored.RESTORED
    assert stage.holds() == {str(reservation_id): f"ended:7:2:{DEADLINE_MS}"}
    assert stage.buyers() == {}
    assert stage.counters() == ("5" if quantity else None, "0", "0")
    assert stage.reserve(reservation_id).outcome == Outcome.HOLD_ENDED


def test_an_ended_hold_is_restored_though_nothing_is_left(stage: Stage) -> None:
    stage.publish(quantity=1)
    stage.sold()
    assert stage.restore(state=Restore.ENDED, buyer=8) == Restored.RESTORED


def test_what_was_restored_goes_on_like_any_hold(stage: Stage) -> None:
    stage.publish(quantity=4)
    first, second, third = stage.new_id(), stage.new_id(), stage.new_id()
    stage.restore(first, state=Restore.HELD, buyer=7)
    stage.restore(second, state=Restore.HELD, buyer=8)
    stage.restore(third, state=Restore.SOLD, buyer=9)
    assert stage.reserve(first).outcome == Outcome.ALREADY_RESERVED
    assert stage.confirm(first) == Confirmed.CONFIRMED
    assert stage.release(second) == Released.RELEASED
    assert stage.release(third, Reason.REFUNDED) == Released.RELEASED
    assert stage.counters() == ("3", "0", "1")


@pytest.mark.parametrize("state", COUNTED)
def test_an_order_that_is_known_is_restored_beyond_the_limit_of_now(stage: Stage, state: Restore) -> None:
    stage.publish(per_buyer_max=1)
    stage.held()
    assert stage.restore(state=state) == Restored.RESTORED
    assert stage.buyers() == {"7": "2"}


@pytest.mark.parametrize("state", [*COUNTED, Restore.ENDED])
def test_orders_are_restored_before_anybody_vouches(stage: Stage, state: Restore) -> None:
    stage.publish(vouched=False)
    assert stage.restore(state=state) == Restored.RESTORED


@pytest.mark.parametrize("state", TAKEN)
def test_the_last_units_can_be_restored_and_not_one_more(stage: Stage, state: Restore) -> None:
    stage.publish(quantity=2, per_buyer_max=9)
    assert stage.restore(state=state, units=2) == Restored.RESTORED
    assert stage.restore(state=state, units=1) == Restored.TOO_FEW_LEFT
    assert stage.counters()[0] == "0"


# --- already restored ---


@pytest.mark.parametrize("state", list(Restore))
@pytest.mark.parametrize("there", ["held", "sold"])
def test_a_hold_that_is_there_stays_as_it_is(stage: Stage, state: Restore, there: str) -> None:
    stage.publish()
    reservation_id = getattr(stage, there)()
    assert stage.restore(reservation_id, state=state, units=1) == Restored.ALREADY_RESTORED


def test_an_ended_hold_is_not_ended_again(stage: Stage) -> None:
    stage.publish()
    reservation_id = stage.ended()
    assert stage.restore(reservation_id, state=Restore.ENDED) == Restored.ALREADY_RESTORED


@pytest.mark.parametrize("state", list(Restore))
def test_a_second_restore_changes_nothing(stage: Stage, state: Restore) -> None:
    stage.publish()
    reservation_id = stage.new_id()
    assert stage.restore(reservation_id, state=state) == Restored.RESTORED
    assert stage.restore(reservation_id, state=state) == Restored.ALREADY_RESTORED


def test_already_restored_comes_before_every_refusal(stage: Stage) -> None:
    stage.publish(quantity=1, per_buyer_max=1)
    reservation_id = stage.sold()
    for state in Restore:
        assert stage.restore(reservation_id, state=state) == Restored.ALREADY_RESTORED


# --- refused ---


def test_a_late_payment_is_not_taken_beyond_the_limit(stage: Stage) -> None:
    stage.publish(quantity=9, per_buyer_max=3)
    reservation_id = stage.ended(units=2)
    stage.held(units=2)
    late = Restore.LATE_PAYMENT
    assert stage.restore(reservation_id, state=late, units=2) == Restored.LIMIT_REACHED
    assert stage.restore(state=late, units=4, buyer=8) == Restored.LIMIT_REACHED
    assert stage.restore(state=late, units=2, buyer=8) == Restored.RESTORED
    assert stage.restore(state=late, units=1, buyer=8) == Restored.RESTORED
    assert stage.restore(state=late, units=1, buyer=8) == Restored.LIMIT_REACHED


def test_the_limit_comes_before_too_few_left(stage: Stage) -> None:
    stage.publish(quantity=1, per_buyer_max=1)
    stage.held()
    assert stage.restore(state=Restore.LATE_PAYMENT, buyer=7) == Restored.LIMIT_REACHED
    assert stage.restore(state=Restore.LATE_PAYMENT, buyer=8) == Restored.TOO_FEW_LEFT


@pytest.mark.parametrize("state", TAKEN)
def test_what_others_have_by_now_is_not_taken_from_them(stage: Stage, state: Restore) -> None:
    stage.publish(quantity=2)
    reservation_id = stage.ended(buyer=7, units=2)
    stage.held(buyer=8)
    assert stage.restore(reservation_id, state=state, units=2) == Restored.TOO_FEW_LEFT


# --- unavailable ---


@pytest.mark.parametrize("state", list(Restore))
def test_an_item_that_was_never_published_is_unavailable(stage: Stage, state: Restore) -> None:
    assert stage.restore(state=state) == Restored.UNAVAILABLE


@pytest.mark.parametrize("state", list(Restore))
@pytest.mark.parametrize("part", ["held", "sold", "reservations", "quantity", "left", "per_buyer_max"])
def test_an_item_that_lost_a_part_is_unavailable(stage: Stage, state: Restore, part: str) -> None:
    stage.publish()
    stage.client.hdel(stage.keys.item, part)
    assert stage.restore(state=state) == Restored.UNAVAILABLE


@pytest.mark.parametrize("part", ["held", "sold", "reservations", "per_buyer_max"])
def test_an_unlimited_item_that_lost_a_part_is_unavailable(stage: Stage, part: str) -> None:
    stage.publish(quantity=None)
    stage.client.hdel(stage.keys.item, part)
    assert stage.restore(state=Restore.SOLD) == Restored.UNAVAILABLE


def test_unavailable_comes_before_already_restored(stage: Stage) -> None:
    stage.publish()
    reservation_id = stage.held()
    stage.client.hdel(stage.keys.item, "left")
    assert stage.restore(reservation_id, state=Restore.HELD) == Restored.UNAVAILABLE


@pytest.mark.parametrize("incarnation", [None, "0" * 40])
def test_a_late_payment_waits_until_somebody_vouches(stage: Stage, incarnation: str | None) -> None:
    stage.publish()
    reservation_id = stage.ended()
    item_state.distrust(item_id=ITEM_ID)
    if incarnation:
        stage.client.hset(stage.keys.item, "incarnation", incarnation)
    assert stage.restore(reservation_id, state=Restore.LATE_PAYMENT) == Restored.UNAVAILABLE
    stage.vouch()
    assert stage.restore(reservation_id, state=Restore.LATE_PAYMENT) == Restored.RESTORED


@pytest.mark.parametrize("lost", ["buyers", "holds"])
@pytest.mark.parametrize("state", ["held", "sold"])
def test_a_late_payment_does_not_begin_a_lost_key_anew(stage: Stage, lost: str, state: str) -> None:
    stage.publish()
    reservation_id = stage.ended()
    getattr(stage, state)(buyer=8)
    stage.client.delete(getattr(stage.keys, lost))
    assert stage.restore(reservation_id, state=Restore.LATE_PAYMENT) == Restored.UNAVAILABLE
    assert stage.reserve().outcome == Outcome.UNAVAILABLE


def test_a_late_payment_does_not_begin_lost_ended_holds_anew(stage: Stage) -> None:
    stage.publish()
    reservation_id = stage.ended()
    stage.client.delete(stage.keys.holds)
    assert stage.restore(reservation_id, state=Restore.LATE_PAYMENT) == Restored.UNAVAILABLE


@pytest.mark.parametrize("lost", ["buyers", "holds"])
def test_an_order_that_is_known_is_restored_though_a_key_is_lost(stage: Stage, lost: str) -> None:
    stage.publish()
    stage.held()
    stage.client.delete(getattr(stage.keys, lost))
    with stage.unguarded():
        assert stage.restore(state=Restore.ENDED) == Restored.RESTORED


# --- a full store, many at once, and faults ---


@pytest.mark.parametrize("state", list(Restore))
def test_a_full_store_still_restores(stage: Stage, state: Restore) -> None:
    stage.publish()
    with stage.store.full():
        assert stage.restore(state=state) == Restored.RESTORED
    assert len(stage.holds()) == 1


def test_many_are_restored_in_one_call_with_an_answer_for_each(stage: Stage) -> None:
    stage.publish(quantity=3, per_buyer_max=2)
    there = stage.held()
    lost = [stage.new_id() for _ in range(4)]
    wanted = [
        Restoration(there, 7, 1, DEADLINE_MS, Restore.HELD),
        Restoration(lost[0], 8, 2, DEADLINE_MS, Restore.SOLD),
        Restoration(lost[1], 9, 1, DEADLINE_MS, Restore.HELD),
        Restoration(lost[2], 9, 1, DEADLINE_MS, Restore.ENDED),
        Restoration(lost[3], 7, 2, DEADLINE_MS, Restore.LATE_PAYMENT),
    ]
    assert ledger.restore_many(item_id=ITEM_ID, restorations=wanted) == [
        Restored.ALREADY_RESTORED,
        Restored.RESTORED,
        Restored.TOO_FEW_LEFT,
        Restored.RESTORED,
        Restored.LIMIT_REACHED,
    ]
    assert ledger.restore_many(item_id=ITEM_ID, restorations=[]) == []
    stage.restored |= {str(lost[0]), str(lost[2])}
    stage.check_invariants()


@pytest.mark.parametrize("units", ["0", "-1", "1.5", "", "many", "1e400", "nan"])
def test_units_that_are_no_whole_number_or_less_than_one_are_refused(stage: Stage, units: str) -> None:
    stage.publish(quantity=None)
    args = [str(stage.new_id()), "7", units, str(DEADLINE_MS), "held"]
    stage.is_refused(scripts.RESTORE, keys=3, args=args, message="units are whole, 1 or more")


@pytest.mark.parametrize(("keys", "args"), [(2, 5), (4, 5), (3, 4), (3, 6)])
def test_restore_takes_three_keys_and_five_arguments(stage: Stage, keys: int, args: int) -> None:
    stage.publish()
    args_given = [str(stage.new_id()), "7", "1", str(DEADLINE_MS), "held", "more"][:args]
    stage.is_refused(scripts.RESTORE, keys=keys, args=args_given, message="restore takes 3 keys and 5 arguments")
