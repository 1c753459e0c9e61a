"""seckill/items/item_state.py: reading, checking and wiping an item in the store."""

import tracemalloc
from unittest import mock
from uuid import UUID, uuid4

import pytest

from seckill import ledger
from seckill.items import item_state
from seckill.items.item_state import BuyerUnits, Condition
from seckill.ledger_words import Adjusted
from seckill.outcomes import Outcome
from seckill.store.keys import keys_of
from tests.seckill.checked_item import DEADLINE_MS, ITEM_ID, CheckedItem

TERMS = ["state", "opens_ms", "closes_ms", "hold_ms", "per_buyer_max", "price_minor", "currency", "held", "sold"]


def condition(item_id: int = ITEM_ID) -> Condition:
    return item_state.conditions(item_ids=[item_id])[item_id]


def is_lost(item: CheckedItem) -> bool:
    """To audits and to buyers, which must never disagree."""
    lost = condition() == Condition.LOST
    assert (item.reserve(buyer=9).outcome == Outcome.UNAVAILABLE) == lost
    return lost


# --- conditions ---


@pytest.mark.parametrize("quantity", [5, None])
def test_an_item_with_a_field_that_is_missing_or_unreadable_is_lost(
    checked_item: CheckedItem, quantity: int | None
) -> None:
    checked_item.publish(quantity=quantity)
    assert condition() == Condition.VERIFIED
    for part in [*TERMS, "reservations", *(("quantity", "left") if quantity else ())]:
        with checked_item.damaged(**{part: None}):
            assert is_lost(checked_item), part
            assert ledger.read(item_id=ITEM_ID) is None, part
    for part in (
        "opens_ms",
        "closes_ms",
        "hold_ms",
        "per_buyer_max",
        "quantity",
        "left",
        "held",
        "sold",
        "reservations",
    ):
        with checked_item.damaged(**{part: "many"}):
            assert is_lost(checked_item), part
            assert ledger.read(item_id=ITEM_ID) is None, part
    assert not is_lost(checked_item)


@pytest.mark.parametrize("key", ["item", "outbox", "buyers", "holds"])
@pytest.mark.parametrize("state", ["held", "sold"])
def test_an_item_in_use_that_lost_a_key_is_lost(checked_item: CheckedItem, key: str, state: str) -> None:
    checked_item.publish()
    getattr(checked_item, state)()
    assert condition() == Condition.VERIFIED
    checked_item.lose(key)
    assert is_lost(checked_item)


def test_holds_are_lost_where_units_are_held_or_passes_have_ended(checked_item: CheckedItem) -> None:
    """Otherwise a pass whose hold has ended could reserve again, and intake would take that for a repetition."""
    checked_item.publish()
    assert not checked_item.client.exists(checked_item.keys.holds, checked_item.keys.buyers)
    assert condition() == Condition.VERIFIED
    checked_item.ended()
    assert condition() == Condition.VERIFIED
    checked_item.lose("holds")
    assert is_lost(checked_item)
    # Held without a hold, though no reservation is counted.
    checked_item.set(held=1, left=4, reservations=0)
    assert is_lost(checked_item)


def test_an_item_is_lost_until_it_is_published_and_unverified_until_it_is_marked(checked_item: CheckedItem) -> None:
    assert is_lost(checked_item)
    checked_item.publish(verified=False)
    with checked_item.damaged(left=None):
        assert is_lost(checked_item)
    assert condition() == Condition.UNVERIFIED
    checked_item.mark_verified()
    assert condition() == Condition.VERIFIED
    item_state.mark_unverified(item_id=ITEM_ID)
    assert condition() == Condition.UNVERIFIED
    assert ledger.read(item_id=ITEM_ID) is None


def test_verifying_with_an_old_incarnation_verifies_nothing(checked_item: CheckedItem) -> None:
    checked_item.publish()
    item_state.mark_verified(item_id=ITEM_ID, incarnation="0" * 40)
    assert condition() == Condition.UNVERIFIED
    assert checked_item.reserve().outcome == Outcome.UNAVAILABLE


def test_each_item_has_its_own_condition(checked_item: CheckedItem) -> None:
    checked_item.publish()
    assert item_state.conditions(item_ids=[7, ITEM_ID, 8]) == {
        7: Condition.LOST,
        ITEM_ID: Condition.VERIFIED,
        8: Condition.LOST,
    }
    assert item_state.conditions(item_ids=[]) == {}


# --- totals ---


def test_totals_add_up_the_holds_beside_the_counters(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=9, per_buyer_max=5)
    checked_item.held(buyer=7, units=2)
    checked_item.sold(buyer=7, units=1)
    checked_item.sold(buyer=8, units=3)
    checked_item.ended(buyer=8, units=2)
    totals = item_state.totals(item_id=ITEM_ID)
    assert totals.counted == {"quantity": 9, "left": 3, "held": 2, "sold": 4, "reservations": 4}
    assert (totals.held, totals.sold) == (2, 4)
    assert totals.buyers.groups_that_differ(totals.buyers_counted) == set()
    assert len(totals.buyers.groups_that_differ(BuyerUnits())) == 2
    assert totals.malformed == []
    assert totals.consistent


def is_consistent() -> bool:
    return item_state.totals(item_id=ITEM_ID).consistent


@pytest.mark.parametrize("quantity", [5, None])
def test_an_item_that_nobody_has_touched_is_consistent(checked_item: CheckedItem, quantity: int | None) -> None:
    assert not is_consistent()
    checked_item.publish(quantity=quantity)
    assert is_consistent()


def test_a_counter_that_is_off_or_missing_or_unreadable_is_inconsistent(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=9)
    checked_item.held()
    checked_item.sold(buyer=8)
    for counter in ("quantity", "left", "held", "sold"):
        value = int(checked_item.item()[counter])
        for wrong in (value + 1, value - 1, None, "many"):
            with checked_item.damaged(**{counter: wrong}):
                assert not is_consistent(), (counter, wrong)
    # Negative, though it adds up.
    checked_item.set(quantity=1, left=-1)
    assert not is_consistent()


@pytest.mark.parametrize("key", ["buyers", "holds"])
def test_an_item_that_lost_a_key_is_inconsistent(checked_item: CheckedItem, key: str) -> None:
    checked_item.publish()
    checked_item.held()
    checked_item.lose(key)
    assert not is_consistent()


def test_buyers_whose_counts_differ_are_named_with_both_figures(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=9, per_buyer_max=5)
    for buyer in (7, 8, 9):
        checked_item.held(buyer=buyer, units=2)
    checked_item.client.hset(checked_item.keys.buyers, mapping={"7": "3", "8": "1"})
    checked_item.client.hset(checked_item.keys.buyers, "10", "1")
    assert not is_consistent()
    totals = item_state.totals(item_id=ITEM_ID)
    found = item_state.buyers_that_differ(item_id=ITEM_ID, totals=totals, count_max=10)
    assert found == [("10", 0, 1), ("7", 2, 3), ("8", 2, 1)]
    assert len(item_state.buyers_that_differ(item_id=ITEM_ID, totals=totals, count_max=2)) == 2
    checked_item.client.hset(checked_item.keys.buyers, "9", "many")
    totals = item_state.totals(item_id=ITEM_ID)
    assert (totals.malformed, totals.consistent) == (["9"], False)


def test_counts_that_differ_in_opposite_directions_do_not_make_up_for_each_other() -> None:
    held, counted = BuyerUnits(), BuyerUnits()
    with mock.patch.object(item_state, "BUYER_GROUPS", 1):
        held.add("7", 1)
        held.add("8", 2)
        counted.add("7", 2)
        counted.add("8", 1)
    assert held.groups_that_differ(counted) == {0}


@pytest.mark.slow
def test_the_totals_of_a_large_item_need_no_more_memory_than_those_of_a_small_one(checked_item: CheckedItem) -> None:
    checked_item.publish()
    peaks = []
    for count in (2_000, 6_000):
        holds = {str(UUID(int=number)): f"held:{number}:1:{DEADLINE_MS}" for number in range(1, count)}
        checked_item.client.hset(checked_item.keys.holds, mapping=holds)
        checked_item.client.hset(checked_item.keys.buyers, mapping=dict.fromkeys(range(1, count), 1))
        del holds
        peaks.append(min(peak_of_totals() for _ in range(2)))
    assert peaks[1] < 1.2 * peaks[0]


def peak_of_totals() -> int:
    """The most bytes in use while the item is added up. Other threads of the process are counted too, now and then."""
    tracemalloc.start()
    try:
        with mock.patch.object(item_state, "BUYER_GROUPS", 1 << 8):
            item_state.totals(item_id=ITEM_ID)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_hold_that_cannot_be_read_is_malformed_and_never_a_fault(checked_item: CheckedItem) -> None:
    checked_item.publish()
    damaged, whole = checked_item.held(buyer=7), checked_item.held(buyer=8)
    holds = ["", "held", "gone:7:1:2", "held:7:1", "held:7:1:soon", "held:you:1:2", "held:7:-1:2", "held:7:1:2:3"]
    for hold in [*holds, b"held:7:1:\xff"]:
        checked_item.client.hset(checked_item.keys.holds, str(damaged), hold)
        totals = item_state.totals(item_id=ITEM_ID)
        assert totals.malformed == [str(damaged)]
        assert not totals.consistent
        found = item_state.find_holds(item_id=ITEM_ID, reservation_ids=[whole, damaged, checked_item.new_id()])
        assert [one and (one.state, one.buyer_id, one.units) for one in found] == [("held", 8, 1), None, None]
    assert item_state.find_holds(item_id=ITEM_ID, reservation_ids=[]) == []


def test_all_holds_come_in_portions_and_none_is_left_out(
    checked_item: CheckedItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_state, "SCAN_COUNT", 10)
    checked_item.publish(quantity=None, per_buyer_max=10_000)
    checked_item.guarded = False
    # Up to 512 fields the store keeps a hash in one piece, and HSCAN returns all of it.
    ids = {str(checked_item.held()) for _ in range(600)}
    portions = list(item_state.all_holds(item_id=ITEM_ID))
    assert len(portions) > 1
    assert {name for portion in portions for name in portion} == ids
    assert is_consistent()


# --- wipe, and applied operations ---


def test_a_wiped_item_keeps_its_outbox_and_nothing_else(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held()
    checked_item.adjust(units=1)
    outbox = checked_item.dump()[checked_item.keys.outbox.encode()]
    checked_item.client.hset(keys_of(43).item, "left", "1")
    item_state.wipe(item_id=ITEM_ID)
    assert checked_item.client.hgetall(keys_of(43).item) == {b"left": b"1"}
    checked_item.client.delete(keys_of(43).item)
    assert checked_item.dump() == {checked_item.keys.outbox.encode(): outbox}
    assert condition() == Condition.LOST


def test_changes_that_the_published_terms_contain_are_marked_as_applied(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    assert item_state.applied_operations(item_id=ITEM_ID) == set()
    first, second, third = uuid4(), uuid4(), uuid4()
    checked_item.adjust(first, units=1)
    item_state.mark_applied(item_id=ITEM_ID, operation_ids=[second, third], now_ms=checked_item.now_ms())
    item_state.mark_applied(item_id=ITEM_ID, operation_ids=[], now_ms=checked_item.now_ms())
    assert item_state.applied_operations(item_id=ITEM_ID) == {first, second, third}
    assert checked_item.adjust(second, units=1).word == Adjusted.ALREADY_APPLIED
    assert checked_item.counters()[0] == "6"
