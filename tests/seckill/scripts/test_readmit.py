"""readmit.lua: each word, each precedence, and that a reservation that is back is as any other."""

import pytest
from django.test import override_settings

from seckill.items import item_state
from seckill.ledger_words import Confirmed, Readmitted, Released
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from tests.seckill.checked_item import ITEM_ID, CheckedItem, says

RESERVED_MS, DEADLINE_MS = 1767225600012, 1767226500012

# --- readmitted ---


@pytest.mark.parametrize("quantity", [9, None])
def test_a_lost_reservation_is_held_again_and_in_the_outbox(checked_item: CheckedItem, quantity: int | None) -> None:
    checked_item.publish(quantity=quantity, per_buyer_max=3)
    checked_item.held(buyer=7, units=1)
    checked_item.sold(buyer=8, units=3)
    checked_item.drained()
    reservation_id = checked_item.new_id()
    with checked_item.unguarded():
        answer = checked_item.readmit(
            reservation_id, buyer=7, units=2, reserved_ms=RESERVED_MS, deadline_ms=DEADLINE_MS
        )
    assert answer == Readmitted.READMITTED
    assert checked_item.holds()[str(reservation_id)] == f"held:7:2:{DEADLINE_MS}"
    assert checked_item.buyers() == {"7": "3", "8": "3"}
    assert checked_item.counters() == ("3" if quantity else None, "3", "3")
    assert checked_item.item()["reservations"] == "3"
    assert checked_item.entries() == [
        {
            "reservation": str(reservation_id),
            "buyer": "7",
            "units": "2",
            "reserved_ms": str(RESERVED_MS),
            "deadline_ms": str(DEADLINE_MS),
        }
    ]
    assert checked_item.latest()[0] == (3, str(reservation_id))


@pytest.mark.parametrize(
    "terms", [{"paused": True}, {"opens_in_ms": 60_000}, {"opens_in_ms": -2_000, "closes_in_ms": -1_000}]
)
def test_a_yes_that_was_given_is_kept_whatever_the_phase(checked_item: CheckedItem, terms: dict[str, int]) -> None:
    checked_item.publish(**terms)  # type: ignore[arg-type]
    assert checked_item.readmit() == Readmitted.READMITTED


def test_a_reservation_that_is_back_behaves_like_any_other(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=4, per_buyer_max=1)
    first, second = checked_item.new_id(), checked_item.new_id()
    assert checked_item.readmit(first, buyer=7) == Readmitted.READMITTED
    assert checked_item.readmit(second, buyer=8) == Readmitted.READMITTED
    assert checked_item.latest() == [(2, str(second)), (1, str(first))]
    assert checked_item.reserve(first, buyer=7).outcome == Outcome.ALREADY_RESERVED
    assert checked_item.reserve(buyer=7).outcome == Outcome.LIMIT_REACHED
    assert checked_item.confirm(first) == Confirmed.CONFIRMED
    assert checked_item.release(second) == Released.RELEASED
    assert checked_item.counters() == ("3", "0", "1")


def test_the_last_units_can_be_had_and_not_one_more(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=2, per_buyer_max=9)
    assert checked_item.readmit(units=2) == Readmitted.READMITTED
    assert checked_item.readmit(buyer=8) == Readmitted.TOO_FEW_LEFT
    assert checked_item.counters()[0] == "0"


@pytest.mark.parametrize(("number", "listed"), [(63, 201), (64, 128), (65, 201), (127, 201), (192, 128)])
def test_the_list_is_cut_to_128_at_each_64th_reservation(checked_item: CheckedItem, number: int, listed: int) -> None:
    checked_item.publish()
    checked_item.held(buyer=7)
    checked_item.client.delete(checked_item.keys.latest)
    checked_item.client.rpush(checked_item.keys.latest, *[f"{n}:x" for n in range(200, 0, -1)])
    checked_item.client.hset(checked_item.keys.item, "reservations", number - 1)
    newest = checked_item.new_id()
    with checked_item.unguarded():
        assert checked_item.readmit(newest, buyer=8) == Readmitted.READMITTED
    assert len(checked_item.latest()) == listed
    assert checked_item.latest()[:2] == [(number, str(newest)), (200, "x")]


# --- unavailable ---


@pytest.mark.parametrize("quantity", [5, None])
@pytest.mark.parametrize("part", ["incarnation", "per_buyer_max", "held", "sold", "reservations"])
def test_an_item_that_lost_a_part_is_unavailable(checked_item: CheckedItem, part: str, quantity: int | None) -> None:
    checked_item.publish(quantity=quantity)
    checked_item.client.hdel(checked_item.keys.item, part)
    assert checked_item.readmit() == Readmitted.UNAVAILABLE


@pytest.mark.parametrize("part", ["quantity", "left"])
def test_an_item_that_lost_a_part_of_its_stock_is_unavailable(checked_item: CheckedItem, part: str) -> None:
    checked_item.publish()
    checked_item.client.hdel(checked_item.keys.item, part)
    assert checked_item.readmit() == Readmitted.UNAVAILABLE


def test_an_item_with_an_unreadable_limit_is_unavailable(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.client.hset(checked_item.keys.item, "per_buyer_max", "many")
    assert checked_item.readmit() == Readmitted.UNAVAILABLE


@pytest.mark.parametrize("state", ["held", "sold", "ended"])
@pytest.mark.parametrize("incarnation", [None, "0" * 40])
def test_an_item_that_is_not_verified_is_unavailable_whatever_the_hold(
    checked_item: CheckedItem, state: str, incarnation: str | None
) -> None:
    checked_item.publish()
    reservation_id = getattr(checked_item, state)()
    checked_item.become_unverified(incarnation=incarnation)
    assert checked_item.readmit(reservation_id) == Readmitted.UNAVAILABLE
    assert checked_item.readmit(buyer=8) == Readmitted.UNAVAILABLE


@pytest.mark.parametrize("length", [0, 20, 39])
def test_a_part_of_the_servers_id_is_not_its_id(checked_item: CheckedItem, length: int) -> None:
    checked_item.publish()
    checked_item.client.hset(checked_item.keys.item, "incarnation", checked_item.item()["incarnation"][:length])
    assert checked_item.readmit() == Readmitted.UNAVAILABLE


def test_an_item_that_lost_its_outbox_is_unavailable(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.client.delete(checked_item.keys.outbox)
    assert checked_item.readmit() == Readmitted.UNAVAILABLE


def test_an_item_that_lost_its_ended_holds_is_unavailable(checked_item: CheckedItem) -> None:
    checked_item.publish()
    ended = checked_item.ended()
    checked_item.client.delete(checked_item.keys.holds)
    assert checked_item.readmit(ended) == Readmitted.UNAVAILABLE


@pytest.mark.parametrize("lost", ["buyers", "holds"])
@pytest.mark.parametrize("state", ["held", "sold"])
def test_an_item_that_lost_who_has_its_units_is_unavailable(checked_item: CheckedItem, lost: str, state: str) -> None:
    checked_item.publish()
    getattr(checked_item, state)(buyer=7)
    checked_item.client.delete(getattr(checked_item.keys, lost))
    assert checked_item.readmit(buyer=8) == Readmitted.UNAVAILABLE


def test_units_held_without_a_hold_are_a_loss_though_no_reservation_is_counted(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held(buyer=7)
    checked_item.client.hset(checked_item.keys.item, "reservations", "0")
    checked_item.client.delete(checked_item.keys.holds)
    assert checked_item.readmit(buyer=8) == Readmitted.UNAVAILABLE


def test_as_many_units_held_as_sold_do_not_hide_a_loss(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held(buyer=7)
    checked_item.sold(buyer=8)
    checked_item.client.delete(checked_item.keys.buyers)
    assert checked_item.readmit(buyer=9) == Readmitted.UNAVAILABLE


def test_an_item_whose_units_all_came_back_is_available(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.ended()
    assert checked_item.readmit() == Readmitted.READMITTED


def test_in_an_ordinary_call_one_command_asks_whether_the_keys_are_there(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held(buyer=7)
    before = checked_item.store.calls()["exists"]
    with checked_item.unguarded():
        checked_item.readmit(buyer=8)
    assert checked_item.store.calls()["exists"] == before + 1


def test_a_full_backlog_is_unavailable_and_one_entry_less_is_not(checked_item: CheckedItem) -> None:
    checked_item.publish()
    with override_settings(SECKILL_BACKLOG_MAX=2):
        assert checked_item.readmit(buyer=7) == Readmitted.READMITTED
        assert checked_item.readmit(buyer=8) == Readmitted.READMITTED
        assert checked_item.readmit(buyer=9) == Readmitted.UNAVAILABLE


# --- already reserved, hold ended ---


@pytest.mark.parametrize("state", ["held", "sold"])
def test_a_reservation_that_is_there_stays_as_it_is(checked_item: CheckedItem, state: str) -> None:
    checked_item.publish(quantity=1, per_buyer_max=1)
    reservation_id = getattr(checked_item, state)()
    assert checked_item.readmit(reservation_id) == Readmitted.ALREADY_RESERVED


def test_a_reservation_comes_back_once(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.new_id()
    assert checked_item.readmit(reservation_id, units=2) == Readmitted.READMITTED
    assert checked_item.readmit(reservation_id, units=2) == Readmitted.ALREADY_RESERVED
    assert checked_item.counters() == ("3", "2", "0")


def test_a_hold_that_was_released_stays_so(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=1)
    reservation_id = checked_item.ended()
    checked_item.held()
    assert checked_item.readmit(reservation_id) == Readmitted.HOLD_ENDED


# --- limit reached, too few left ---


def test_what_the_buyer_has_reserved_since_counts_for_the_limit(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=2, per_buyer_max=2)
    checked_item.held(units=1)
    assert checked_item.readmit(units=2) == Readmitted.LIMIT_REACHED
    assert checked_item.readmit(units=1) == Readmitted.READMITTED
    assert checked_item.readmit(units=1) == Readmitted.LIMIT_REACHED


def test_too_few_units_are_left(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=3, per_buyer_max=2)
    checked_item.held(buyer=8, units=2)
    assert checked_item.readmit(units=2) == Readmitted.TOO_FEW_LEFT
    assert checked_item.readmit(units=1) == Readmitted.READMITTED


# --- faults ---


@pytest.mark.parametrize("units", ["0", "-1", "1.5", "many"])
def test_units_are_whole(checked_item: CheckedItem, units: str) -> None:
    checked_item.publish()
    args = [str(checked_item.new_id()), "7", units, str(RESERVED_MS), str(DEADLINE_MS), "100000"]
    checked_item.is_refused(scripts.READMIT, keys=5, args=args, message="units are whole, 1 or more")


def test_a_full_store_refuses_it_and_nothing_changes(checked_item: CheckedItem) -> None:
    checked_item.publish()
    with checked_item.store.full(), pytest.raises(StoreUnreachable, match="maxmemory"):
        checked_item.readmit()
    assert checked_item.readmit() == Readmitted.READMITTED


def test_a_damaged_count_of_the_buyer_is_a_fault(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=9)
    checked_item.client.hset(checked_item.keys.buyers, "7", "1.5")
    with pytest.raises(StoreUnreachable, match=says("the count of the buyer is malformed")):
        checked_item.readmit()


def test_the_condition_of_an_item_is_not_changed(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.readmit()
    assert item_state.conditions(item_ids=[ITEM_ID]) == {ITEM_ID: item_state.Condition.VERIFIED}
