"""confirm.lua: each word, each precedence, and that money taken is written down even where the store is full."""

import pytest

from seckill import ledger, scripts
from seckill.ledger import Confirmed, Reason
from tests.seckill.stage import ITEM_ID, Stage, says


@pytest.mark.parametrize("quantity", [5, None])
def test_confirmed_units_move_from_held_to_sold(stage: Stage, quantity: int | None) -> None:
    stage.publish(quantity=quantity, per_buyer_max=4)
    reservation_id = stage.new_id()
    deadline_ms = stage.reserve(reservation_id, buyer=7, units=2).deadline_ms
    stage.held(buyer=8)
    assert stage.confirm(reservation_id) == Confirmed.CONFIRMED
    assert stage.counters() == ("2" if quantity else None, "1", "2")
    assert stage.holds()[str(reservation_id)] == f"sold:7:2:{deadline_ms}"
    assert stage.buyers() == {"7": "2", "8": "1"}


def test_an_item_that_was_never_published_is_unavailable(stage: Stage) -> None:
    assert stage.confirm(stage.new_id()) == Confirmed.UNAVAILABLE


@pytest.mark.parametrize("part", ["held", "sold"])
@pytest.mark.parametrize("state", ["held", "sold", "ended"])
def test_an_item_that_lost_a_counter_is_unavailable_whatever_the_hold(stage: Stage, part: str, state: str) -> None:
    stage.publish()
    reservation_id = getattr(stage, state)()
    stage.client.hdel(stage.keys.item, part)
    assert stage.confirm(reservation_id) == Confirmed.UNAVAILABLE


def test_unavailable_comes_before_unknown_hold(stage: Stage) -> None:
    stage.publish()
    stage.client.delete(stage.keys.item)
    assert stage.confirm(stage.new_id()) == Confirmed.UNAVAILABLE


def test_a_hold_that_the_store_does_not_have_is_unknown(stage: Stage) -> None:
    stage.publish()
    stage.held()
    assert stage.confirm(stage.new_id()) == Confirmed.UNKNOWN_HOLD


def test_a_second_confirm_changes_nothing(stage: Stage) -> None:
    stage.publish()
    reservation_id = stage.sold()
    assert stage.confirm(reservation_id) == Confirmed.ALREADY_CONFIRMED


@pytest.mark.parametrize("reason", list(Reason))
def test_a_hold_that_was_given_back_has_ended(stage: Stage, reason: Reason) -> None:
    stage.publish()
    reservation_id = stage.sold() if reason is Reason.REFUNDED else stage.held()
    stage.release(reservation_id, reason)
    assert stage.confirm(reservation_id) == Confirmed.HOLD_ENDED


def test_a_full_store_still_confirms(stage: Stage) -> None:
    stage.publish()
    reservation_id = stage.held()
    with stage.store.full():
        assert stage.confirm(reservation_id) == Confirmed.CONFIRMED
    assert stage.counters() == ("4", "0", "1")


def test_many_are_confirmed_in_one_call_with_an_answer_for_each(stage: Stage) -> None:
    stage.publish(per_buyer_max=5)
    ids = [stage.held(), stage.new_id(), stage.sold(), stage.ended()]
    assert ledger.confirm(item_id=ITEM_ID, reservation_ids=ids) == [
        Confirmed.CONFIRMED,
        Confirmed.UNKNOWN_HOLD,
        Confirmed.ALREADY_CONFIRMED,
        Confirmed.HOLD_ENDED,
    ]
    assert ledger.confirm(item_id=ITEM_ID, reservation_ids=[]) == []
    stage.check_invariants()


@pytest.mark.parametrize("hold", ["", "held:7:1:soon", "held:7::1767226500012", "held:7:1:1767226500012:more"])
def test_a_hold_that_cannot_be_understood_is_a_fault_and_stays(stage: Stage, hold: str) -> None:
    stage.publish()
    damaged = stage.held()
    stage.client.hset(stage.keys.holds, str(damaged), hold)
    with pytest.raises(ledger.StoreUnreachable, match=says("the hold is malformed")):
        stage.confirm(damaged)


@pytest.mark.parametrize(("keys", "args"), [(1, 1), (3, 1), (2, 0), (2, 2)])
def test_confirm_takes_two_keys_and_one_argument(stage: Stage, keys: int, args: int) -> None:
    stage.publish()
    args_given = [str(stage.held()), "more"][:args]
    message = "confirm takes 2 keys and 1 argument"
    stage.is_refused(scripts.CONFIRM, keys=keys, args=args_given, message=message)
