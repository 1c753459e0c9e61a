"""forget.lua: each word, each precedence, and that only ended holds go, when their passes are of no use any more."""

from uuid import UUID

import pytest

from seckill import ledger
from seckill.items import item_state
from seckill.ledger_words import Forgotten, ReleaseReason, RestoreAs, Restored
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from seckill.store.scripts import Script
from tests.seckill.checked_item import ITEM_ID, CheckedItem, says

# Runs before forget.lua in the same script, so that both see the same time.
DEADLINE_FROM_NOW = """
local end_clock = redis.call('TIME')
local end_now_ms = end_clock[1] * 1000 + math.floor(end_clock[2] / 1000)
redis.call('HSET', KEYS[2], ARGV[1], 'ended:7:1:' .. string.format('%.0f', end_now_ms + ({deadline})))
"""


def two_ended(checked_item: CheckedItem) -> UUID:
    """The second of two holds that ended: the last hold of an item is never forgotten."""
    checked_item.publish(quantity=9, per_buyer_max=5)
    checked_item.ended(buyer=8)
    return checked_item.ended()


def test_an_ended_hold_is_forgotten_and_counted(checked_item: CheckedItem) -> None:
    reservation_id = two_ended(checked_item)
    before = checked_item.item()
    assert checked_item.forget(reservation_id) == Forgotten.FORGOTTEN
    assert str(reservation_id) not in checked_item.holds()
    assert checked_item.item() == before | {"forgotten": "1"}
    assert item_state.totals(item_id=ITEM_ID).consistent


def test_what_is_forgotten_adds_up(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=9, per_buyer_max=5)
    sold, held = checked_item.sold(units=2), checked_item.held()
    ended = [checked_item.ended(buyer=buyer) for buyer in (7, 8, 9)]
    refunded = checked_item.sold(buyer=8)
    checked_item.release(refunded, ReleaseReason.REFUNDED)
    for reservation_id in [*ended, refunded]:
        assert checked_item.forget(reservation_id) == Forgotten.FORGOTTEN
    assert set(checked_item.holds()) == {str(sold), str(held)}
    assert (checked_item.item()["reservations"], checked_item.item()["forgotten"]) == ("6", "4")
    assert item_state.totals(item_id=ITEM_ID).consistent
    assert checked_item.reserve().outcome == Outcome.RESERVED


@pytest.mark.parametrize("damage", ["", "many", "-1", "1.5", "1x", "007", "1000000000000000"])
def test_an_item_whose_count_is_damaged_is_unavailable(checked_item: CheckedItem, damage: str) -> None:
    reservation_id = two_ended(checked_item)
    checked_item.client.hset(checked_item.keys.item, "forgotten", damage)
    assert checked_item.forget(reservation_id) == Forgotten.UNAVAILABLE


def test_nothing_is_forgotten_while_the_item_is_compared(checked_item: CheckedItem) -> None:
    reservation_id = two_ended(checked_item)
    item_state.mark_unverified(item_id=ITEM_ID)
    assert checked_item.forget(reservation_id) == Forgotten.UNAVAILABLE
    assert checked_item.forget(checked_item.new_id()) == Forgotten.UNAVAILABLE
    checked_item.mark_verified()
    assert checked_item.forget(reservation_id) == Forgotten.FORGOTTEN


def test_an_item_of_another_run_of_the_server_is_unavailable(checked_item: CheckedItem) -> None:
    reservation_id = two_ended(checked_item)
    checked_item.client.hset(checked_item.keys.item, "incarnation", "0" * 40)
    assert checked_item.forget(reservation_id) == Forgotten.UNAVAILABLE


def test_a_hold_that_the_store_does_not_have_is_unknown(checked_item: CheckedItem) -> None:
    reservation_id = two_ended(checked_item)
    assert checked_item.forget(checked_item.new_id()) == Forgotten.UNKNOWN_HOLD
    checked_item.forget(reservation_id)
    assert checked_item.forget(reservation_id) == Forgotten.UNKNOWN_HOLD


@pytest.mark.parametrize("state", ["held", "sold"])
@pytest.mark.parametrize("keep_ms", [-3_600_000, 3_600_000])
def test_a_hold_that_counts_units_stays(checked_item: CheckedItem, state: str, keep_ms: int) -> None:
    checked_item.publish()
    checked_item.ended()
    reservation_id = getattr(checked_item, state)()
    assert checked_item.forget(reservation_id, keep_ms=keep_ms) == Forgotten.NOT_ENDED


@pytest.mark.parametrize(
    ("deadline_in_ms", "keep_ms", "word"),
    [
        (0, 0, Forgotten.FORGOTTEN),
        (1, 0, Forgotten.TOO_EARLY),
        (-1000, 1000, Forgotten.FORGOTTEN),
        (-999, 1000, Forgotten.TOO_EARLY),
        (-1000, 999, Forgotten.FORGOTTEN),
    ],
)
def test_a_hold_is_kept_until_its_pass_can_no_longer_be_used(
    checked_item: CheckedItem, deadline_in_ms: int, keep_ms: int, word: Forgotten
) -> None:
    reservation_id = two_ended(checked_item)
    script = Script("forget", DEADLINE_FROM_NOW.format(deadline=deadline_in_ms) + scripts.FORGET.source)
    keys = [checked_item.keys.item, checked_item.keys.holds]
    assert script.run(checked_item.client, keys=keys, args=[str(reservation_id), keep_ms])[0] == word


def test_a_pass_of_a_kept_hold_is_still_refused(checked_item: CheckedItem) -> None:
    reservation_id = two_ended(checked_item)
    assert checked_item.forget(reservation_id, keep_ms=0) == Forgotten.TOO_EARLY
    assert checked_item.reserve(reservation_id).outcome == Outcome.HOLD_ENDED


def test_the_only_hold_of_an_item_stays(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=5)
    first = checked_item.ended()
    assert checked_item.forget(first, keep_ms=3_600_000) == Forgotten.TOO_EARLY
    assert checked_item.forget(first) == Forgotten.LAST_HOLD
    second = checked_item.ended()
    assert checked_item.forget(first) == Forgotten.FORGOTTEN
    assert checked_item.forget(second) == Forgotten.LAST_HOLD
    assert checked_item.reserve().outcome == Outcome.RESERVED


def test_a_late_payment_of_a_forgotten_hold_takes_its_units_again(checked_item: CheckedItem) -> None:
    reservation_id = two_ended(checked_item)
    checked_item.forget(reservation_id)
    with checked_item.unguarded():
        assert checked_item.restore(reservation_id, state=RestoreAs.LATE_PAYMENT) == Restored.RESTORED
    assert checked_item.counters() == ("8", "0", "1")
    assert item_state.totals(item_id=ITEM_ID).consistent


def test_a_full_store_still_forgets(checked_item: CheckedItem) -> None:
    reservation_id = two_ended(checked_item)
    with checked_item.store.full():
        assert checked_item.forget(reservation_id) == Forgotten.FORGOTTEN


def test_many_are_forgotten_in_one_call_with_an_answer_for_each(checked_item: CheckedItem) -> None:
    reservation_id = two_ended(checked_item)
    ids = [reservation_id, checked_item.new_id(), checked_item.held()]
    answers = ledger.forget(item_id=ITEM_ID, reservation_ids=ids, keep_ms=-3_600_000)
    assert answers == [Forgotten.FORGOTTEN, Forgotten.UNKNOWN_HOLD, Forgotten.NOT_ENDED]
    assert ledger.forget(item_id=ITEM_ID, reservation_ids=[], keep_ms=0) == []


@pytest.mark.parametrize("hold", ["", "ended:7:1:soon", "ended:7::1767226500012", "ended:7:1:1767226500012:more"])
def test_a_malformed_hold_is_a_fault_and_stays(checked_item: CheckedItem, hold: str) -> None:
    damaged = two_ended(checked_item)
    checked_item.client.hset(checked_item.keys.holds, str(damaged), hold)
    with pytest.raises(StoreUnreachable, match=says("the hold is malformed")):
        checked_item.forget(damaged)


def test_a_time_that_is_no_number_is_refused(checked_item: CheckedItem) -> None:
    args = [str(two_ended(checked_item)), "long"]
    checked_item.is_refused(scripts.FORGET, keys=2, args=args, message="keep_ms is a number")
