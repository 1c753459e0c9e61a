"""release.lua: each word, each precedence, and that units come back even where the store is full."""

import pytest

from seckill import ledger, scripts
from seckill.ledger import Reason, Released
from seckill.outcomes import Outcome
from tests.seckill.stage import ITEM_ID, Stage, says

GIVES_BACK_WHAT_IS_HELD = list(Reason)
LEAVES_WHAT_IS_SOLD = [Reason.EXPIRED, Reason.CANCELLED, Reason.REJECTED]


@pytest.mark.parametrize("reason", GIVES_BACK_WHAT_IS_HELD)
@pytest.mark.parametrize("quantity", [9, None])
def test_released_units_are_left_again(stage: Stage, reason: Reason, quantity: int | None) -> None:
    stage.publish(quantity=quantity, per_buyer_max=5)
    reservation_id = stage.new_id()
    deadline_ms = stage.reserve(reservation_id, buyer=7, units=2).deadline_ms
    stage.held(buyer=8, units=1)
    stage.sold(buyer=8, units=3)
    assert stage.release(reservation_id, reason) == Released.RELEASED
    assert stage.counters() == ("5" if quantity else None, "1", "3")
    assert stage.holds()[str(reservation_id)] == f"ended:7:2:{deadline_ms}"
    assert stage.buyers() == {"8": "4"}


@pytest.mark.parametrize("quantity", [9, None])
def test_refunded_units_are_left_again(stage: Stage, quantity: int | None) -> None:
    stage.publish(quantity=quantity, per_buyer_max=5)
    stage.held(buyer=7, units=1)
    stage.sold(buyer=8, units=1)
    assert stage.release(stage.sold(buyer=7, units=2), Reason.REFUNDED) == Released.RELEASED
    assert stage.counters() == ("7" if quantity else None, "1", "1")
    assert stage.buyers() == {"7": "1", "8": "1"}


def test_a_release_frees_the_buyers_limit(stage: Stage) -> None:
    stage.publish(per_buyer_max=2)
    first, _ = stage.held(), stage.held()
    assert stage.reserve().outcome == Outcome.LIMIT_REACHED
    stage.release(first)
    assert stage.buyers() == {"7": "1"}
    assert stage.reserve(units=2).outcome == Outcome.LIMIT_REACHED
    assert stage.reserve(units=1).outcome == Outcome.RESERVED


def test_an_item_that_was_never_published_is_unavailable(stage: Stage) -> None:
    assert stage.release(stage.new_id()) == Released.UNAVAILABLE


@pytest.mark.parametrize("part", ["held", "sold", "quantity", "left"])
@pytest.mark.parametrize("state", ["held", "sold", "ended"])
def test_an_item_that_lost_a_counter_is_unavailable_whatever_the_hold(stage: Stage, part: str, state: str) -> None:
    stage.publish()
    reservation_id = getattr(stage, state)()
    stage.client.hdel(stage.keys.item, part)
    assert stage.release(reservation_id) == Released.UNAVAILABLE


@pytest.mark.parametrize("part", ["held", "sold"])
def test_an_unlimited_item_that_lost_a_counter_is_unavailable(stage: Stage, part: str) -> None:
    stage.publish(quantity=None)
    reservation_id = stage.held()
    stage.client.hdel(stage.keys.item, part)
    assert stage.release(reservation_id) == Released.UNAVAILABLE


def test_unavailable_comes_before_unknown_hold(stage: Stage) -> None:
    stage.publish()
    stage.client.delete(stage.keys.item)
    assert stage.release(stage.new_id()) == Released.UNAVAILABLE


def test_a_hold_that_the_store_does_not_have_is_unknown(stage: Stage) -> None:
    stage.publish()
    stage.held()
    assert stage.release(stage.new_id()) == Released.UNKNOWN_HOLD


@pytest.mark.parametrize("first", list(Reason))
@pytest.mark.parametrize("second", list(Reason))
def test_a_second_release_changes_nothing(stage: Stage, first: Reason, second: Reason) -> None:
    stage.publish()
    stage.held(buyer=8)
    reservation_id = stage.held()
    stage.release(reservation_id, first)
    assert stage.release(reservation_id, second) == Released.ALREADY_RELEASED


@pytest.mark.parametrize("reason", LEAVES_WHAT_IS_SOLD)
def test_only_a_refund_gives_back_what_is_sold(stage: Stage, reason: Reason) -> None:
    stage.publish()
    reservation_id = stage.sold()
    assert stage.release(reservation_id, reason) == Released.ALREADY_CONFIRMED


@pytest.mark.parametrize("reason", [Reason.EXPIRED, Reason.REFUNDED])
def test_a_full_store_still_releases(stage: Stage, reason: Reason) -> None:
    stage.publish()
    reservation_id = stage.held() if reason is Reason.EXPIRED else stage.sold()
    with stage.store.full():
        assert stage.release(reservation_id, reason) == Released.RELEASED
    assert stage.counters() == ("5", "0", "0")


def test_many_are_released_in_one_call_with_an_answer_for_each(stage: Stage) -> None:
    stage.publish(per_buyer_max=5)
    ids = [stage.held(), stage.new_id(), stage.ended(), stage.sold()]
    answers = ledger.release(item_id=ITEM_ID, reservation_ids=ids, reason=Reason.EXPIRED)
    assert answers == [
        Released.RELEASED,
        Released.UNKNOWN_HOLD,
        Released.ALREADY_RELEASED,
        Released.ALREADY_CONFIRMED,
    ]
    assert ledger.release(item_id=ITEM_ID, reservation_ids=[], reason=Reason.EXPIRED) == []
    stage.check_invariants()


@pytest.mark.parametrize("hold", ["", "held:7:1:soon", "held:7::1767226500012", "held:7:1:1767226500012:more"])
def test_a_hold_that_cannot_be_understood_is_a_fault_and_stays(stage: Stage, hold: str) -> None:
    stage.publish()
    damaged = stage.held()
    stage.client.hset(stage.keys.holds, str(damaged), hold)
    with pytest.raises(ledger.StoreUnreachable, match=says("the hold is malformed")):
        stage.release(damaged)


@pytest.mark.parametrize(("keys", "args"), [(2, 2), (4, 2), (3, 1), (3, 3)])
def test_release_takes_three_keys_and_two_arguments(stage: Stage, keys: int, args: int) -> None:
    stage.publish()
    args_given = [str(stage.held()), "expired", "more"][:args]
    message = "release takes 3 keys and 2 arguments"
    stage.is_refused(scripts.RELEASE, keys=keys, args=args_given, message=message)
