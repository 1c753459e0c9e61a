"""adjust.lua: each word, each precedence, each term, and that a change is applied once, even on a full store."""

from uuid import uuid4

import pytest
from redis.exceptions import ResponseError

from seckill import item_state, ledger, scripts
from seckill.ledger import AdjustAnswer, Adjusted, Restore
from seckill.outcomes import Outcome
from tests.seckill.stage import HOUR_MS, ITEM_ID, Stage, says

# --- adjusted ---


def test_added_units_are_left_and_the_answer_gives_the_figures(stage: Stage) -> None:
    stage.publish(quantity=5, per_buyer_max=4)
    stage.held(units=1)
    stage.sold(units=2)
    closes_ms = int(stage.item()["closes_ms"])
    assert stage.adjust(units=3) == AdjustAnswer(
        word=Adjusted.ADJUSTED, quantity=8, left=5, held=1, sold=2, closes_ms=closes_ms
    )
    assert stage.item()["quantity"] == "8"
    assert stage.counters() == ("5", "1", "2")


def test_withdrawn_units_are_not_left_any_more(stage: Stage) -> None:
    stage.publish(quantity=5)
    stage.held()
    answer = stage.adjust(units=-4)
    assert (answer.word, answer.quantity, answer.left, answer.held) == (Adjusted.ADJUSTED, 1, 0, 1)
    assert stage.reserve(buyer=8).outcome == Outcome.HELD_BY_OTHERS


def test_all_units_but_one_can_be_withdrawn_from_an_untouched_item(stage: Stage) -> None:
    stage.publish(quantity=5)
    answer = stage.adjust(units=-4)
    assert (answer.word, answer.quantity, answer.left) == (Adjusted.ADJUSTED, 1, 1)


def test_units_added_to_a_sold_out_item_can_be_had(stage: Stage) -> None:
    stage.publish(quantity=1)
    stage.sold()
    assert stage.reserve(buyer=8).outcome == Outcome.SOLD_OUT
    assert stage.adjust(units=1).word == Adjusted.ADJUSTED
    assert stage.reserve(buyer=8).outcome == Outcome.RESERVED


def test_a_paused_item_holds_nobody_until_it_is_resumed(stage: Stage) -> None:
    stage.publish()
    assert stage.adjust(state="paused").word == Adjusted.ADJUSTED
    assert stage.reserve().outcome == Outcome.PAUSED
    assert stage.adjust(state="open").word == Adjusted.ADJUSTED
    assert stage.reserve().outcome == Outcome.RESERVED


def test_the_end_can_be_moved(stage: Stage) -> None:
    stage.publish(closes_in_ms=-1, opens_in_ms=-2)
    assert stage.reserve().outcome == Outcome.CLOSED
    closes_ms = stage.now_ms() + HOUR_MS
    assert stage.adjust(closes_ms=closes_ms).closes_ms == closes_ms
    assert stage.reserve().outcome == Outcome.RESERVED


def test_a_sale_that_ends_now_ends_by_the_clock_of_the_store(stage: Stage) -> None:
    stage.publish()
    before_ms = stage.now_ms()
    answer = stage.adjust(closes_ms="now")
    assert answer.word == Adjusted.ADJUSTED
    assert answer.closes_ms is not None
    assert before_ms <= answer.closes_ms <= stage.now_ms()
    assert stage.reserve().outcome == Outcome.CLOSED


def test_the_limit_can_be_raised_and_lowered(stage: Stage) -> None:
    stage.publish(per_buyer_max=1)
    stage.held()
    assert stage.reserve().outcome == Outcome.LIMIT_REACHED
    assert stage.adjust(per_buyer_max=2).word == Adjusted.ADJUSTED
    stage.held()
    assert stage.adjust(per_buyer_max=1).word == Adjusted.ADJUSTED
    assert stage.reserve().outcome == Outcome.LIMIT_REACHED
    assert stage.buyers() == {"7": "2"}


def test_a_change_moves_what_it_names_and_nothing_else(stage: Stage) -> None:
    stage.publish(quantity=5)
    before = stage.item()
    stage.adjust(units=1)
    assert stage.item() == before | {"quantity": "6", "left": "6"}
    stage.adjust(state="paused")
    assert stage.item() == before | {"quantity": "6", "left": "6", "state": "paused"}
    stage.adjust(closes_ms=1767229200000)
    stage.adjust(per_buyer_max=9)
    changed = {"quantity": "6", "left": "6", "state": "paused", "closes_ms": "1767229200000", "per_buyer_max": "9"}
    assert stage.item() == before | changed


def test_one_call_can_change_everything(stage: Stage) -> None:
    stage.publish(quantity=5)
    answer = stage.adjust(units=-1, state="paused", closes_ms=1767229200000, per_buyer_max=3)
    assert answer == AdjustAnswer(Adjusted.ADJUSTED, quantity=4, left=4, held=0, sold=0, closes_ms=1767229200000)
    assert (stage.item()["state"], stage.item()["per_buyer_max"]) == ("paused", "3")


def test_the_operation_is_noted_with_its_time(stage: Stage) -> None:
    stage.publish()
    operation_id = uuid4()
    before_ms = stage.now_ms()
    stage.adjust(operation_id, units=1)
    [(noted, applied_ms)] = stage.client.hgetall(stage.keys.ops).items()
    assert noted.decode() == str(operation_id)
    assert before_ms <= int(applied_ms) <= stage.now_ms()
    assert item_state.applied_operations(item_id=ITEM_ID) == {operation_id}


# --- an unlimited item ---


def test_an_unlimited_item_has_terms_but_no_units_to_change(stage: Stage) -> None:
    stage.publish(quantity=None)
    for units in (1, -1):
        answer = stage.adjust(units=units)
        assert (answer.word, answer.quantity, answer.left, answer.held) == (Adjusted.UNLIMITED, None, None, 0)
    answer = stage.adjust(state="paused", per_buyer_max=3)
    assert (answer.word, answer.quantity, answer.left, answer.held, answer.sold) == (
        Adjusted.ADJUSTED,
        None,
        None,
        0,
        0,
    )
    assert not {"quantity", "left"} & stage.item().keys()


# --- too few left ---


def test_what_is_held_or_sold_cannot_be_withdrawn(stage: Stage) -> None:
    stage.publish(quantity=5)
    stage.held()
    stage.sold(buyer=8)
    answer = stage.adjust(units=-4)
    assert (answer.word, answer.quantity, answer.left, answer.held, answer.sold) == (Adjusted.TOO_FEW_LEFT, 5, 3, 1, 1)
    assert stage.adjust(units=-3).word == Adjusted.ADJUSTED


def test_at_least_one_unit_must_remain(stage: Stage) -> None:
    stage.publish(quantity=5)
    assert stage.adjust(units=-5).word == Adjusted.TOO_FEW_LEFT
    assert stage.adjust(units=-6).word == Adjusted.TOO_FEW_LEFT


def test_a_refused_change_changes_none_of_its_parts_and_may_be_tried_again(stage: Stage) -> None:
    stage.publish(quantity=5, per_buyer_max=5)
    operation_id = uuid4()
    reservation_id = stage.held(units=5)
    assert stage.adjust(operation_id, units=-1, state="paused").word == Adjusted.TOO_FEW_LEFT
    stage.release(reservation_id)
    assert stage.adjust(operation_id, units=-1, state="paused").word == Adjusted.ADJUSTED


def test_an_item_with_nothing_on_sale_can_still_be_paused(stage: Stage) -> None:
    stage.publish(quantity=0)
    assert stage.adjust(state="paused").word == Adjusted.ADJUSTED
    assert stage.item()["state"] == "paused"


# --- already applied ---


def test_an_operation_is_applied_once_and_the_figures_are_those_of_now(stage: Stage) -> None:
    stage.publish(quantity=5)
    operation_id = uuid4()
    stage.adjust(operation_id, units=2)
    stage.held()
    answer = stage.adjust(operation_id, units=2, state="paused")
    assert (answer.word, answer.quantity, answer.left, answer.held) == (Adjusted.ALREADY_APPLIED, 7, 6, 1)


def test_already_applied_comes_before_a_refusal(stage: Stage) -> None:
    stage.publish(quantity=5)
    operation_id = uuid4()
    assert stage.adjust(operation_id, units=-4).word == Adjusted.ADJUSTED
    assert stage.adjust(operation_id, units=-4).word == Adjusted.ALREADY_APPLIED


def test_already_applied_comes_before_unlimited(stage: Stage) -> None:
    stage.publish(quantity=None)
    operation_id = uuid4()
    stage.adjust(operation_id, state="paused")
    assert stage.adjust(operation_id, units=1).word == Adjusted.ALREADY_APPLIED


# --- unavailable ---


def test_an_item_that_was_never_published_is_unavailable(stage: Stage) -> None:
    assert stage.adjust(units=1) == AdjustAnswer(Adjusted.UNAVAILABLE, None, None, None, None, None)


@pytest.mark.parametrize("part", ["quantity", "left", "held", "sold"])
@pytest.mark.parametrize("units", [0, 1])
def test_an_item_that_lost_a_counter_is_unavailable(stage: Stage, part: str, units: int) -> None:
    stage.publish()
    stage.client.hdel(stage.keys.item, part)
    assert stage.adjust(units=units, state="paused").word == Adjusted.UNAVAILABLE


@pytest.mark.parametrize("part", ["held", "sold"])
def test_an_unlimited_item_that_lost_a_counter_is_unavailable(stage: Stage, part: str) -> None:
    stage.publish(quantity=None)
    stage.client.hdel(stage.keys.item, part)
    assert stage.adjust(state="paused").word == Adjusted.UNAVAILABLE


def test_what_nobody_vouches_for_is_unavailable_and_is_told_again_once_somebody_does(stage: Stage) -> None:
    stage.publish(quantity=5, vouched=False)
    operation_id = uuid4()
    answer = stage.adjust(operation_id, units=1)
    assert (answer.word, answer.quantity, answer.left) == (Adjusted.UNAVAILABLE, 5, 5)
    stage.vouch()
    assert stage.adjust(operation_id, units=1).word == Adjusted.ADJUSTED


def test_a_store_that_came_back_different_is_unavailable_even_for_what_it_applied(stage: Stage) -> None:
    stage.publish()
    operation_id = uuid4()
    stage.adjust(operation_id, units=1)
    stage.client.hset(stage.keys.item, "incarnation", "0" * 40)
    assert stage.adjust(operation_id, units=1).word == Adjusted.UNAVAILABLE


# --- a full store, and faults ---


def test_a_full_store_still_takes_every_change(stage: Stage) -> None:
    stage.publish(quantity=5)
    operation_id = uuid4()
    with stage.store.full():
        answer = stage.adjust(operation_id, units=-1, state="paused", closes_ms="now", per_buyer_max=2)
        assert answer.word == Adjusted.ADJUSTED
        assert stage.adjust(operation_id, units=-1).word == Adjusted.ALREADY_APPLIED
    assert stage.counters() == ("4", "0", "0")
    assert stage.item()["state"] == "paused"


def test_a_change_and_a_restored_hold_add_up(stage: Stage) -> None:
    stage.publish(quantity=2)
    reservation_id = stage.ended()
    stage.adjust(units=-1)
    assert stage.restore(reservation_id, state=Restore.SOLD) == ledger.Restored.RESTORED
    assert stage.adjust(units=-1).word == Adjusted.TOO_FEW_LEFT


@pytest.mark.parametrize("units", ["1.5", "", "many", "1e400", "nan"])
def test_units_that_are_no_whole_number_are_refused(stage: Stage, units: str) -> None:
    stage.publish()
    keys, args = [stage.keys.item, stage.keys.ops], [str(uuid4()), units, "paused", "", ""]
    with stage.nothing_changes(), pytest.raises(ResponseError, match=says("units are whole")):
        scripts.ADJUST.run(stage.client, keys=keys, args=args)


@pytest.mark.parametrize(("keys", "args"), [(1, 5), (3, 5), (2, 4), (2, 6)])
def test_adjust_takes_two_keys_and_five_arguments(stage: Stage, keys: int, args: int) -> None:
    stage.publish()
    args_given = [str(uuid4()), "1", "", "", "", "more"][:args]
    stage.is_refused(scripts.ADJUST, keys=keys, args=args_given, message="adjust takes 2 keys and 5 arguments")
