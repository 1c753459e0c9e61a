"""adjust.lua: each word, each precedence, each term, and that a change is applied once, even on a full store."""

from uuid import uuid4

import pytest

from seckill.items import item_state
from seckill.ledger import AdjustAnswer
from seckill.ledger_words import Adjusted, RestoreAs, Restored
from seckill.outcomes import Outcome
from tests.seckill.checked_item import HOUR_MS, ITEM_ID, CheckedItem

# --- adjusted ---


def test_added_units_are_left_and_the_answer_gives_the_figures(item: CheckedItem) -> None:
    item.publish(quantity=5, per_buyer_max=4)
    item.held(units=1)
    item.sold(units=2)
    closes_ms = int(item.item()["closes_ms"])
    assert item.adjust(units=3) == AdjustAnswer(
        word=Adjusted.ADJUSTED, quantity=8, left=5, held=1, sold=2, closes_ms=closes_ms
    )
    assert item.item()["quantity"] == "8"
    assert item.counters() == ("5", "1", "2")


def test_units_added_to_a_sold_out_item_can_be_had(item: CheckedItem) -> None:
    item.publish(quantity=1)
    item.sold()
    assert item.reserve(buyer=8).outcome == Outcome.SOLD_OUT
    assert item.adjust(units=1).word == Adjusted.ADJUSTED
    assert item.reserve(buyer=8).outcome == Outcome.RESERVED


def test_a_paused_item_holds_nobody_until_it_is_resumed(item: CheckedItem) -> None:
    item.publish()
    assert item.adjust(state="paused").word == Adjusted.ADJUSTED
    assert item.reserve().outcome == Outcome.PAUSED
    assert item.adjust(state="open").word == Adjusted.ADJUSTED
    assert item.reserve().outcome == Outcome.RESERVED


def test_the_end_can_be_moved(item: CheckedItem) -> None:
    item.publish(closes_in_ms=-1, opens_in_ms=-2)
    assert item.reserve().outcome == Outcome.CLOSED
    closes_ms = item.now_ms() + HOUR_MS
    assert item.adjust(closes_ms=closes_ms).closes_ms == closes_ms
    assert item.reserve().outcome == Outcome.RESERVED


def test_a_sale_that_ends_now_ends_by_the_clock_of_the_store(item: CheckedItem) -> None:
    item.publish()
    before_ms = item.now_ms()
    answer = item.adjust(closes_ms="now")
    assert answer.word == Adjusted.ADJUSTED
    assert answer.closes_ms is not None
    assert before_ms <= answer.closes_ms <= item.now_ms()
    assert item.reserve().outcome == Outcome.CLOSED


def test_the_limit_can_be_raised_and_lowered(item: CheckedItem) -> None:
    item.publish(per_buyer_max=1)
    item.held()
    assert item.reserve().outcome == Outcome.LIMIT_REACHED
    assert item.adjust(per_buyer_max=2).word == Adjusted.ADJUSTED
    item.held()
    assert item.adjust(per_buyer_max=1).word == Adjusted.ADJUSTED
    assert item.reserve().outcome == Outcome.LIMIT_REACHED
    assert item.buyers() == {"7": "2"}


def test_a_change_alters_what_it_names_and_nothing_else(item: CheckedItem) -> None:
    item.publish(quantity=5)
    before = item.item()
    item.adjust(units=1)
    assert item.item() == before | {"quantity": "6", "left": "6"}
    item.adjust(state="paused")
    assert item.item() == before | {"quantity": "6", "left": "6", "state": "paused"}
    item.adjust(closes_ms=1767229200000)
    item.adjust(per_buyer_max=9)
    changed = {"quantity": "6", "left": "6", "state": "paused", "closes_ms": "1767229200000", "per_buyer_max": "9"}
    assert item.item() == before | changed


def test_the_operation_is_noted_with_its_time(item: CheckedItem) -> None:
    item.publish()
    operation_id = uuid4()
    before_ms = item.now_ms()
    item.adjust(operation_id, units=1)
    [(noted, applied_ms)] = item.client.hgetall(item.keys.ops).items()
    assert noted.decode() == str(operation_id)
    assert before_ms <= int(applied_ms) <= item.now_ms()
    assert item_state.applied_operations(item_id=ITEM_ID) == {operation_id}


# --- an unlimited item ---


def test_an_unlimited_item_has_terms_but_no_units_to_change(item: CheckedItem) -> None:
    item.publish(quantity=None)
    for units in (1, -1):
        answer = item.adjust(units=units)
        assert (answer.word, answer.quantity, answer.left, answer.held) == (Adjusted.UNLIMITED, None, None, 0)
    answer = item.adjust(state="paused", per_buyer_max=3)
    assert (answer.word, answer.quantity, answer.left, answer.held, answer.sold) == (
        Adjusted.ADJUSTED,
        None,
        None,
        0,
        0,
    )
    assert not {"quantity", "left"} & item.item().keys()


# --- too few left ---


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_all_units_that_are_left_can_be_withdrawn_and_no_more(item: CheckedItem, taken: int) -> None:
    item.publish(quantity=5)
    for state in ("held", "sold")[:taken]:
        getattr(item, state)()
    held, sold, closes_ms = int(taken > 0), int(taken > 1), int(item.item()["closes_ms"])
    refused = AdjustAnswer(Adjusted.TOO_FEW_LEFT, 5, 5 - taken, held, sold, closes_ms)
    assert item.adjust(units=taken - 6) == refused
    assert item.adjust(units=taken - 5) == AdjustAnswer(Adjusted.ADJUSTED, taken, 0, held, sold, closes_ms)
    assert item.adjust(units=-1).word == Adjusted.TOO_FEW_LEFT
    expected = {0: Outcome.SOLD_OUT, 1: Outcome.HELD_BY_OTHERS, 2: Outcome.HELD_BY_OTHERS}
    assert item.reserve(buyer=8).outcome == expected[taken]


def test_a_refused_change_changes_none_of_its_parts_and_may_be_tried_again(item: CheckedItem) -> None:
    item.publish(quantity=5, per_buyer_max=5)
    operation_id = uuid4()
    reservation_id = item.held(units=5)
    assert item.adjust(operation_id, units=-1, state="paused").word == Adjusted.TOO_FEW_LEFT
    item.release(reservation_id)
    assert item.adjust(operation_id, units=-1, state="paused").word == Adjusted.ADJUSTED


def test_an_item_with_nothing_on_sale_can_still_be_paused(item: CheckedItem) -> None:
    item.publish(quantity=0)
    assert item.adjust(state="paused").word == Adjusted.ADJUSTED
    assert item.item()["state"] == "paused"


# --- already applied ---


def test_an_operation_is_applied_once_and_the_answer_has_the_present_figures(item: CheckedItem) -> None:
    item.publish(quantity=5)
    operation_id = uuid4()
    item.adjust(operation_id, units=2)
    item.held()
    answer = item.adjust(operation_id, units=2, state="paused")
    assert (answer.word, answer.quantity, answer.left, answer.held) == (Adjusted.ALREADY_APPLIED, 7, 6, 1)


@pytest.mark.parametrize("quantity", [5, None])
def test_already_applied_comes_before_a_refusal(item: CheckedItem, quantity: int | None) -> None:
    item.publish(quantity=quantity)
    operation_id = uuid4()
    assert item.adjust(operation_id, units=-4 if quantity else 0, state="paused").word == Adjusted.ADJUSTED
    assert item.adjust(operation_id, units=-4).word == Adjusted.ALREADY_APPLIED


# --- unavailable ---


def test_an_item_that_was_never_published_is_unavailable(item: CheckedItem) -> None:
    assert item.adjust(units=1) == AdjustAnswer(Adjusted.UNAVAILABLE, None, None, None, None, None)


def test_an_unverified_item_is_unavailable_until_it_is_verified(item: CheckedItem) -> None:
    item.publish(quantity=5, verified=False)
    operation_id = uuid4()
    answer = item.adjust(operation_id, units=1)
    assert (answer.word, answer.quantity, answer.left) == (Adjusted.UNAVAILABLE, 5, 5)
    item.mark_verified()
    assert item.adjust(operation_id, units=1).word == Adjusted.ADJUSTED


# --- a full store, and faults ---


def test_a_full_store_still_takes_every_change(item: CheckedItem) -> None:
    item.publish(quantity=5)
    operation_id = uuid4()
    with item.store.full():
        answer = item.adjust(operation_id, units=-1, state="paused", closes_ms="now", per_buyer_max=2)
        assert answer.word == Adjusted.ADJUSTED
        assert item.adjust(operation_id, units=-1).word == Adjusted.ALREADY_APPLIED
    assert item.counters() == ("4", "0", "0")
    assert item.item()["state"] == "paused"


def test_a_change_and_a_restored_hold_add_up(item: CheckedItem) -> None:
    item.publish(quantity=2)
    reservation_id = item.ended()
    item.adjust(units=-1)
    assert item.restore(reservation_id, state=RestoreAs.SOLD) == Restored.RESTORED
    assert item.adjust(units=-1).word == Adjusted.TOO_FEW_LEFT
