"""adjust.lua: each word, each precedence, each term, and that a change is applied once."""

from uuid import uuid4

import pytest

from seckill.ledger import AdjustAnswer
from seckill.ledger_words import Adjusted
from seckill.outcomes import Outcome
from tests.seckill.checked_item import CheckedItem

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


def test_a_sale_that_ends_now_ends_by_the_clock_of_the_store(item: CheckedItem) -> None:
    item.publish()
    before_ms = item.now_ms()
    answer = item.adjust(closes_ms="now")
    assert answer.word == Adjusted.ADJUSTED
    assert answer.closes_ms is not None
    assert before_ms <= answer.closes_ms <= item.now_ms()
    assert item.reserve().outcome == Outcome.CLOSED


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


# --- already applied ---


def test_an_operation_is_applied_once_and_the_answer_has_the_present_figures(item: CheckedItem) -> None:
    item.publish(quantity=5)
    operation_id = uuid4()
    item.adjust(operation_id, units=2)
    item.held()
    answer = item.adjust(operation_id, units=2, state="paused")
    assert (answer.word, answer.quantity, answer.left, answer.held) == (Adjusted.ALREADY_APPLIED, 7, 6, 1)
    assert item.adjust(operation_id, units=-9).word == Adjusted.ALREADY_APPLIED
