"""adjust.lua: each word, each precedence, each term, and that a change is applied once, even on a full store."""

from uuid import uuid4

import pytest
from redis.exceptions import ResponseError

from seckill.items import item_state
from seckill.ledger import AdjustAnswer
from seckill.ledger_words import Adjusted, RestoreAs, Restored
from seckill.outcomes import Outcome
from seckill.store import scripts
from tests.seckill.checked_item import HOUR_MS, ITEM_ID, CheckedItem, says

# --- adjusted ---


def test_added_units_are_left_and_the_answer_gives_the_figures(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5, per_buyer_max=4)
    checked_item.held(units=1)
    checked_item.sold(units=2)
    closes_ms = int(checked_item.item()["closes_ms"])
    assert checked_item.adjust(units=3) == AdjustAnswer(
        word=Adjusted.ADJUSTED, quantity=8, left=5, held=1, sold=2, closes_ms=closes_ms
    )
    assert checked_item.item()["quantity"] == "8"
    assert checked_item.counters() == ("5", "1", "2")


def test_withdrawn_units_are_not_left_any_more(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    checked_item.held()
    answer = checked_item.adjust(units=-4)
    assert (answer.word, answer.quantity, answer.left, answer.held) == (Adjusted.ADJUSTED, 1, 0, 1)
    assert checked_item.reserve(buyer=8).outcome == Outcome.HELD_BY_OTHERS


def test_all_units_but_one_can_be_withdrawn_from_an_untouched_item(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    answer = checked_item.adjust(units=-4)
    assert (answer.word, answer.quantity, answer.left) == (Adjusted.ADJUSTED, 1, 1)


def test_units_added_to_a_sold_out_item_can_be_had(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=1)
    checked_item.sold()
    assert checked_item.reserve(buyer=8).outcome == Outcome.SOLD_OUT
    assert checked_item.adjust(units=1).word == Adjusted.ADJUSTED
    assert checked_item.reserve(buyer=8).outcome == Outcome.RESERVED


def test_a_paused_item_holds_nobody_until_it_is_resumed(checked_item: CheckedItem) -> None:
    checked_item.publish()
    assert checked_item.adjust(state="paused").word == Adjusted.ADJUSTED
    assert checked_item.reserve().outcome == Outcome.PAUSED
    assert checked_item.adjust(state="open").word == Adjusted.ADJUSTED
    assert checked_item.reserve().outcome == Outcome.RESERVED


def test_the_end_can_be_moved(checked_item: CheckedItem) -> None:
    checked_item.publish(closes_in_ms=-1, opens_in_ms=-2)
    assert checked_item.reserve().outcome == Outcome.CLOSED
    closes_ms = checked_item.now_ms() + HOUR_MS
    assert checked_item.adjust(closes_ms=closes_ms).closes_ms == closes_ms
    assert checked_item.reserve().outcome == Outcome.RESERVED


def test_a_sale_that_ends_now_ends_by_the_clock_of_the_store(checked_item: CheckedItem) -> None:
    checked_item.publish()
    before_ms = checked_item.now_ms()
    answer = checked_item.adjust(closes_ms="now")
    assert answer.word == Adjusted.ADJUSTED
    assert answer.closes_ms is not None
    assert before_ms <= answer.closes_ms <= checked_item.now_ms()
    assert checked_item.reserve().outcome == Outcome.CLOSED


def test_the_limit_can_be_raised_and_lowered(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=1)
    checked_item.held()
    assert checked_item.reserve().outcome == Outcome.LIMIT_REACHED
    assert checked_item.adjust(per_buyer_max=2).word == Adjusted.ADJUSTED
    checked_item.held()
    assert checked_item.adjust(per_buyer_max=1).word == Adjusted.ADJUSTED
    assert checked_item.reserve().outcome == Outcome.LIMIT_REACHED
    assert checked_item.buyers() == {"7": "2"}


def test_a_change_alters_what_it_names_and_nothing_else(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    before = checked_item.item()
    checked_item.adjust(units=1)
    assert checked_item.item() == before | {"quantity": "6", "left": "6"}
    checked_item.adjust(state="paused")
    assert checked_item.item() == before | {"quantity": "6", "left": "6", "state": "paused"}
    checked_item.adjust(closes_ms=1767229200000)
    checked_item.adjust(per_buyer_max=9)
    changed = {"quantity": "6", "left": "6", "state": "paused", "closes_ms": "1767229200000", "per_buyer_max": "9"}
    assert checked_item.item() == before | changed


def test_one_call_can_change_everything(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    answer = checked_item.adjust(units=-1, state="paused", closes_ms=1767229200000, per_buyer_max=3)
    assert answer == AdjustAnswer(Adjusted.ADJUSTED, quantity=4, left=4, held=0, sold=0, closes_ms=1767229200000)
    assert (checked_item.item()["state"], checked_item.item()["per_buyer_max"]) == ("paused", "3")


def test_the_operation_is_noted_with_its_time(checked_item: CheckedItem) -> None:
    checked_item.publish()
    operation_id = uuid4()
    before_ms = checked_item.now_ms()
    checked_item.adjust(operation_id, units=1)
    [(noted, applied_ms)] = checked_item.client.hgetall(checked_item.keys.ops).items()
    assert noted.decode() == str(operation_id)
    assert before_ms <= int(applied_ms) <= checked_item.now_ms()
    assert item_state.applied_operations(item_id=ITEM_ID) == {operation_id}


# --- an unlimited item ---


def test_an_unlimited_item_has_terms_but_no_units_to_change(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=None)
    for units in (1, -1):
        answer = checked_item.adjust(units=units)
        assert (answer.word, answer.quantity, answer.left, answer.held) == (Adjusted.UNLIMITED, None, None, 0)
    answer = checked_item.adjust(state="paused", per_buyer_max=3)
    assert (answer.word, answer.quantity, answer.left, answer.held, answer.sold) == (
        Adjusted.ADJUSTED,
        None,
        None,
        0,
        0,
    )
    assert not {"quantity", "left"} & checked_item.item().keys()


# --- too few left ---


def test_what_is_held_or_sold_cannot_be_withdrawn(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    checked_item.held()
    checked_item.sold(buyer=8)
    answer = checked_item.adjust(units=-4)
    assert (answer.word, answer.quantity, answer.left, answer.held, answer.sold) == (Adjusted.TOO_FEW_LEFT, 5, 3, 1, 1)
    assert checked_item.adjust(units=-3).word == Adjusted.ADJUSTED


def test_all_free_units_can_be_withdrawn_and_no_more(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    assert checked_item.adjust(units=-6).word == Adjusted.TOO_FEW_LEFT
    answer = checked_item.adjust(units=-5)
    assert (answer.word, answer.quantity, answer.left) == (Adjusted.ADJUSTED, 0, 0)
    assert checked_item.adjust(units=-1).word == Adjusted.TOO_FEW_LEFT


def test_a_refused_change_changes_none_of_its_parts_and_may_be_tried_again(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5, per_buyer_max=5)
    operation_id = uuid4()
    reservation_id = checked_item.held(units=5)
    assert checked_item.adjust(operation_id, units=-1, state="paused").word == Adjusted.TOO_FEW_LEFT
    checked_item.release(reservation_id)
    assert checked_item.adjust(operation_id, units=-1, state="paused").word == Adjusted.ADJUSTED


def test_an_item_with_nothing_on_sale_can_still_be_paused(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=0)
    assert checked_item.adjust(state="paused").word == Adjusted.ADJUSTED
    assert checked_item.item()["state"] == "paused"


# --- already applied ---


def test_an_operation_is_applied_once_and_the_answer_has_the_present_figures(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    operation_id = uuid4()
    checked_item.adjust(operation_id, units=2)
    checked_item.held()
    answer = checked_item.adjust(operation_id, units=2, state="paused")
    assert (answer.word, answer.quantity, answer.left, answer.held) == (Adjusted.ALREADY_APPLIED, 7, 6, 1)


def test_already_applied_comes_before_a_refusal(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    operation_id = uuid4()
    assert checked_item.adjust(operation_id, units=-4).word == Adjusted.ADJUSTED
    assert checked_item.adjust(operation_id, units=-4).word == Adjusted.ALREADY_APPLIED


def test_already_applied_comes_before_unlimited(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=None)
    operation_id = uuid4()
    checked_item.adjust(operation_id, state="paused")
    assert checked_item.adjust(operation_id, units=1).word == Adjusted.ALREADY_APPLIED


# --- unavailable ---


def test_an_item_that_was_never_published_is_unavailable(checked_item: CheckedItem) -> None:
    assert checked_item.adjust(units=1) == AdjustAnswer(Adjusted.UNAVAILABLE, None, None, None, None, None)


@pytest.mark.parametrize("part", ["quantity", "left", "held", "sold"])
@pytest.mark.parametrize("units", [0, 1])
def test_an_item_that_lost_a_counter_is_unavailable(checked_item: CheckedItem, part: str, units: int) -> None:
    checked_item.publish()
    checked_item.client.hdel(checked_item.keys.item, part)
    assert checked_item.adjust(units=units, state="paused").word == Adjusted.UNAVAILABLE


@pytest.mark.parametrize("part", ["held", "sold"])
def test_an_unlimited_item_that_lost_a_counter_is_unavailable(checked_item: CheckedItem, part: str) -> None:
    checked_item.publish(quantity=None)
    checked_item.client.hdel(checked_item.keys.item, part)
    assert checked_item.adjust(state="paused").word == Adjusted.UNAVAILABLE


def test_an_unverified_item_is_unavailable_until_it_is_verified(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5, verified=False)
    operation_id = uuid4()
    answer = checked_item.adjust(operation_id, units=1)
    assert (answer.word, answer.quantity, answer.left) == (Adjusted.UNAVAILABLE, 5, 5)
    checked_item.mark_verified()
    assert checked_item.adjust(operation_id, units=1).word == Adjusted.ADJUSTED


def test_after_a_restart_an_item_is_unavailable_even_for_an_applied_operation(checked_item: CheckedItem) -> None:
    checked_item.publish()
    operation_id = uuid4()
    checked_item.adjust(operation_id, units=1)
    checked_item.client.hset(checked_item.keys.item, "incarnation", "0" * 40)
    assert checked_item.adjust(operation_id, units=1).word == Adjusted.UNAVAILABLE


# --- a full store, and faults ---


def test_a_full_store_still_takes_every_change(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    operation_id = uuid4()
    with checked_item.store.full():
        answer = checked_item.adjust(operation_id, units=-1, state="paused", closes_ms="now", per_buyer_max=2)
        assert answer.word == Adjusted.ADJUSTED
        assert checked_item.adjust(operation_id, units=-1).word == Adjusted.ALREADY_APPLIED
    assert checked_item.counters() == ("4", "0", "0")
    assert checked_item.item()["state"] == "paused"


def test_a_change_and_a_restored_hold_add_up(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=2)
    reservation_id = checked_item.ended()
    checked_item.adjust(units=-1)
    assert checked_item.restore(reservation_id, state=RestoreAs.SOLD) == Restored.RESTORED
    assert checked_item.adjust(units=-1).word == Adjusted.TOO_FEW_LEFT


@pytest.mark.parametrize("units", ["1.5", "", "many", "1e400", "nan"])
def test_units_that_are_not_an_integer_are_refused(checked_item: CheckedItem, units: str) -> None:
    checked_item.publish()
    keys, args = [checked_item.keys.item, checked_item.keys.ops], [str(uuid4()), units, "paused", "", ""]
    with checked_item.nothing_changes(), pytest.raises(ResponseError, match=says("units are whole")):
        scripts.ADJUST.run(checked_item.client, keys=keys, args=args)
