"""reserve.lua: each outcome, each precedence between outcomes, each edge, and what each leaves behind.

The outcomes come in the order of docs/design.md; of two that apply the earlier is the answer.
"""

from typing import Any

import pytest
from django.test import override_settings

from seckill.items import holdings
from seckill.ledger import Reservation
from seckill.ledger_words import Hold
from seckill.outcomes import Outcome
from tests.seckill.checked_item import HOUR_MS, ITEM_ID, CheckedItem

# --- reserved ---


def test_reserved_units_are_held_and_the_reservation_is_in_the_outbox(item: CheckedItem) -> None:
    item.publish(quantity=5, per_buyer_max=3, hold_ms=900_000)
    reservation_id = item.new_id()
    before_ms = item.now_ms()
    answer = item.reserve(reservation_id, buyer=7, units=2)
    assert before_ms <= answer.now_ms <= item.now_ms()
    deadline_ms = answer.now_ms + 900_000
    assert answer == Reservation(Outcome.RESERVED, answer.now_ms, 2, deadline_ms, 1900, "CNY", left=3)
    assert item.counters() == ("3", "2", "0")
    assert item.buyers() == {"7": "2"}
    assert item.holds() == {str(reservation_id): f"held:7:2:{deadline_ms}"}
    assert item.entries() == [
        {
            "reservation": str(reservation_id),
            "buyer": "7",
            "units": "2",
            "reserved_ms": str(answer.now_ms),
            "deadline_ms": str(deadline_ms),
        }
    ]
    hold = Hold(state="held", buyer_id=7, units=2, deadline_ms=deadline_ms)
    assert holdings.find_hold(item_id=ITEM_ID, reservation_id=reservation_id) == hold
    assert holdings.find_hold(item_id=ITEM_ID, reservation_id=item.new_id()) is None


def test_the_last_units_can_be_had_and_not_one_more_and_again_when_they_came_back(item: CheckedItem) -> None:
    item.publish(quantity=3, per_buyer_max=3)
    assert item.reserve(buyer=7, units=1).left == 2
    last = item.new_id()
    assert item.reserve(last, buyer=8, units=2).left == 0
    assert item.reserve(buyer=9).outcome == Outcome.HELD_BY_OTHERS
    item.release(last)
    assert item.reserve(buyer=9).outcome == Outcome.RESERVED


# Units and deadline of the first answer are told again.
KNOWN = {"held": Outcome.ALREADY_RESERVED, "sold": Outcome.ALREADY_RESERVED, "ended": Outcome.HOLD_ENDED}
LATER = {
    "paused": {"state": "paused"},
    "not_open": {"opens_ms": "9999999999999"},
    "closed": {"closes_ms": "1"},
    "limit_reached": {"per_buyer_max": "0"},
    "sold_out": {"quantity": "2", "left": "0", "held": "0", "sold": "2"},
    "held_by_others": {"quantity": "2", "left": "0", "held": "2"},
}


@pytest.mark.parametrize("later", LATER)
def test_a_full_backlog_comes_after_what_stays_true_and_before_what_depends_on_the_buyer(
    item: CheckedItem, later: str
) -> None:
    item.publish(per_buyer_max=1)
    known = {state: getattr(item, state)(buyer=buyer) for buyer, state in enumerate(KNOWN, start=7)}
    item.set(**LATER[later])
    with override_settings(SECKILL_BACKLOG_MAX=1):
        assert item.reserve(buyer=20).outcome == ("unavailable" if later == "limit_reached" else later)
        for state, outcome in KNOWN.items():
            assert item.reserve(known[state]).outcome == outcome


# --- already_reserved and hold_ended ---


@pytest.mark.parametrize("units", [1, 2])
def test_a_repeated_call_gets_the_first_answer_again_also_after_the_payment(item: CheckedItem, units: int) -> None:
    item.publish()
    reservation_id = item.new_id()
    first = item.reserve(reservation_id, units=2)
    again = item.reserve(reservation_id, units=units)
    expected = Reservation(Outcome.ALREADY_RESERVED, again.now_ms, 2, first.deadline_ms, 1900, "CNY", left=3)
    assert again == expected
    item.confirm(reservation_id)
    paid = item.reserve(reservation_id)
    assert (paid.outcome, paid.deadline_ms) == (Outcome.ALREADY_RESERVED, first.deadline_ms)


# --- of two outcomes that apply ---

EARLY = {"opens_in_ms": HOUR_MS, "closes_in_ms": 2 * HOUR_MS}
OVER = {"closes_in_ms": -1}
ONE = {"quantity": 1, "per_buyer_max": 1}


@pytest.mark.parametrize(
    ("terms", "had", "units", "outcome"),
    [
        (EARLY | {"paused": True}, None, 1, Outcome.PAUSED),
        (OVER | {"paused": True}, None, 1, Outcome.PAUSED),
        ({"opens_in_ms": HOUR_MS, "closes_in_ms": -HOUR_MS}, None, 1, Outcome.NOT_OPEN),
        (EARLY, None, 3, Outcome.NOT_OPEN),
        (OVER, None, 3, Outcome.CLOSED),
        ({"quantity": 0}, None, 1, Outcome.SOLD_OUT),
        (ONE, "sold", 1, Outcome.SOLD_OUT),
        (ONE, "held", 1, Outcome.HELD_BY_OTHERS),
        (ONE, None, 2, Outcome.LIMIT_REACHED),
    ],
)
def test_the_earlier_is_the_answer(
    item: CheckedItem, terms: dict[str, Any], had: str | None, units: int, outcome: Outcome
) -> None:
    item.publish(**terms)
    if had:
        getattr(item, had)()
    assert item.reserve(units=units).outcome == outcome


# --- paused, not_open, closed ---


@pytest.mark.parametrize(
    ("window", "outcome", "retry_ms", "left"),
    [
        ({"opens_in_ms": 5 * HOUR_MS, "closes_in_ms": 6 * HOUR_MS}, Outcome.NOT_OPEN, 5 * HOUR_MS, 5),
        ({"opens_in_ms": 1}, Outcome.NOT_OPEN, 1, 5),
        ({"closes_in_ms": 0}, Outcome.CLOSED, 0, 5),
    ],
)
def test_the_answer_says_in_how_many_milliseconds_the_sale_opens(
    item: CheckedItem, window: dict[str, int], outcome: Outcome, retry_ms: int, left: int
) -> None:
    item.publish()
    answer = item.at_window("reserve", item.reserve, **window)
    assert (answer.outcome, answer.retry_ms, answer.left) == (outcome, retry_ms, left)


# --- limit_reached ---


def test_a_buyer_who_has_more_than_a_lowered_limit_can_reserve_none(item: CheckedItem) -> None:
    item.publish(per_buyer_max=3)
    item.held(units=2)
    item.adjust(per_buyer_max=1)
    answer = item.reserve()
    assert (answer.outcome, answer.remaining, answer.per_buyer_max) == (Outcome.LIMIT_REACHED, 0, 1)


# --- sold_out, held_by_others, too_few_left: each excludes the others ---


@pytest.mark.parametrize(
    ("had", "units", "outcome", "left"),
    [
        (["sold", "sold"], 1, Outcome.SOLD_OUT, 0),
        (["sold", "held"], 1, Outcome.HELD_BY_OTHERS, 0),
        (["held"], 2, Outcome.TOO_FEW_LEFT, 1),
        (["sold"], 2, Outcome.TOO_FEW_LEFT, 1),
    ],
)
def test_units_that_may_come_back_are_told_apart_from_sold_ones(
    item: CheckedItem, had: list[str], units: int, outcome: Outcome, left: int
) -> None:
    item.publish(quantity=2)
    for buyer, state in enumerate(had, start=7):
        getattr(item, state)(buyer=buyer)
    answer = item.reserve(buyer=9, units=units)
    assert answer == Reservation(outcome, answer.now_ms, left=left)


# --- units for the waiting list ---


@pytest.mark.parametrize(("left", "waits_for"), [(1, 1), (2, 1), (2, 2)])
def test_newcomers_do_not_get_what_somebody_in_line_could_have(item: CheckedItem, left: int, waits_for: int) -> None:
    item.publish(quantity=left, per_buyer_max=3)
    item.set(smallest_waiting=waits_for)
    # As where nothing is left: before what depends on the buyer.
    for units in (1, 9):
        assert item.reserve(units=units).outcome == Outcome.HELD_BY_OTHERS


@pytest.mark.parametrize(
    ("quantity", "waits_for"), [(2, "3"), (2, "10"), (2, "many"), (2, ""), (2, "1.5"), (None, "1")]
)
def test_units_that_nobody_in_line_could_have_are_for_newcomers(
    item: CheckedItem, quantity: int | None, waits_for: str
) -> None:
    item.publish(quantity=quantity, per_buyer_max=3)
    item.set(smallest_waiting=waits_for)
    with item.unguarded():
        assert item.reserve(units=1).outcome == Outcome.RESERVED
