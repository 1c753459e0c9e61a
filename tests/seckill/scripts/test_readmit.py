"""readmit.lua: each word, each precedence, and that a reservation that is back is as any other."""

import pytest

from seckill.items import item_state
from seckill.ledger_words import Readmitted
from tests.seckill.checked_item import DEADLINE_MS, ITEM_ID, RESERVED_MS, CheckedItem


@pytest.mark.parametrize("quantity", [9, None])
def test_a_lost_reservation_is_held_again_and_in_the_outbox(item: CheckedItem, quantity: int | None) -> None:
    item.publish(quantity=quantity, per_buyer_max=3)
    item.held(buyer=7, units=1)
    item.sold(buyer=8, units=3)
    item.drained()
    reservation_id = item.new_id()
    with item.unguarded():
        assert item.readmit(reservation_id, buyer=7, units=2) == Readmitted.READMITTED
    assert item.holds()[str(reservation_id)] == f"held:7:2:{DEADLINE_MS}"
    assert item.buyers() == {"7": "3", "8": "3"}
    assert item.counters() == ("3" if quantity else None, "3", "3")
    assert item.item()["reservations"] == "3"
    assert item.entries() == [
        {
            "reservation": str(reservation_id),
            "buyer": "7",
            "units": "2",
            "reserved_ms": str(RESERVED_MS),
            "deadline_ms": str(DEADLINE_MS),
        }
    ]
    assert item.latest()[0] == (3, str(reservation_id))
    assert item_state.conditions(item_ids=[ITEM_ID]) == {ITEM_ID: item_state.Condition.VERIFIED}


@pytest.mark.parametrize(
    "terms", [{"paused": True}, {"opens_in_ms": 60_000}, {"opens_in_ms": -2_000, "closes_in_ms": -1_000}]
)
def test_a_yes_that_was_given_is_kept_whatever_the_phase(item: CheckedItem, terms: dict[str, int]) -> None:
    item.publish(**terms)  # type: ignore[arg-type]
    reservation_id = item.new_id()
    assert item.readmit(reservation_id) == Readmitted.READMITTED
    assert item.latest() == [(1, str(reservation_id))]


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("held", Readmitted.ALREADY_RESERVED),
        ("sold", Readmitted.ALREADY_RESERVED),
        ("ended", Readmitted.HOLD_ENDED),
    ],
)
def test_a_reservation_that_is_there_stays_as_it_is_before_any_limit(
    item: CheckedItem, state: str, word: Readmitted
) -> None:
    item.publish(quantity=1, per_buyer_max=1)
    reservation_id = getattr(item, state)()
    if state == "ended":
        item.held()
    assert item.readmit(reservation_id) == word


def test_units_that_the_buyer_has_reserved_since_count_for_the_limit(item: CheckedItem) -> None:
    item.publish(quantity=2, per_buyer_max=2)
    item.held(units=1)
    assert item.readmit(units=2) == Readmitted.LIMIT_REACHED
    assert item.readmit(units=1) == Readmitted.READMITTED
    assert item.readmit(units=1) == Readmitted.LIMIT_REACHED


def test_the_last_units_can_be_had_and_not_one_more(item: CheckedItem) -> None:
    item.publish(quantity=3, per_buyer_max=2)
    item.held(buyer=8)
    assert item.readmit(buyer=9, units=1) == Readmitted.READMITTED
    assert item.readmit(units=2) == Readmitted.TOO_FEW_LEFT
    assert item.readmit(units=1) == Readmitted.READMITTED
    assert item.readmit(units=1) == Readmitted.TOO_FEW_LEFT
    assert item.counters()[0] == "0"
