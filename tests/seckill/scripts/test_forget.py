"""forget.lua: each word, each precedence, and that only ended holds go, when their passes are of no use any more."""

from uuid import UUID

import pytest

from seckill import ledger
from seckill.items import item_state
from seckill.ledger_words import Forgotten, ReleaseReason
from seckill.outcomes import Outcome
from tests.seckill.checked_item import ITEM_ID, CheckedItem


def two_ended(item: CheckedItem) -> UUID:
    """The second of two holds that ended: the last hold of an item is never forgotten."""
    item.publish(quantity=9, per_buyer_max=5)
    item.ended(buyer=8)
    return item.ended()


def test_forgotten_holds_add_up(item: CheckedItem) -> None:
    item.publish(quantity=9, per_buyer_max=5)
    sold, held = item.sold(units=2), item.held()
    ended = [item.ended(buyer=buyer) for buyer in (7, 8, 9)]
    refunded = item.sold(buyer=8)
    item.release(refunded, ReleaseReason.REFUNDED)
    for reservation_id in [*ended, refunded]:
        assert item.forget(reservation_id) == Forgotten.FORGOTTEN
    assert set(item.holds()) == {str(sold), str(held)}
    assert (item.item()["reservations"], item.item()["forgotten"]) == ("6", "4")
    assert item_state.totals(item_id=ITEM_ID).consistent
    assert item.reserve().outcome == Outcome.RESERVED


@pytest.mark.parametrize("damage", ["", "many", "-1", "1.5", "1x", "007", "1000000000000000"])
def test_an_item_whose_count_is_damaged_is_unavailable(item: CheckedItem, damage: str) -> None:
    reservation_id = two_ended(item)
    item.client.hset(item.keys.item, "forgotten", damage)
    assert item.forget(reservation_id) == Forgotten.UNAVAILABLE


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
    item: CheckedItem, deadline_in_ms: int, keep_ms: int, word: Forgotten
) -> None:
    reservation_id = two_ended(item)
    ended = f"redis.call('HSET', KEYS[2], ARGV[1], 'ended:7:1:' .. in_ms({deadline_in_ms}))"
    with item.just_before("forget", ended):
        assert item.forget(reservation_id, keep_ms=keep_ms) == word


def test_the_only_hold_of_an_item_stays(item: CheckedItem) -> None:
    item.publish(per_buyer_max=5)
    first = item.ended()
    assert item.forget(first, keep_ms=3_600_000) == Forgotten.TOO_EARLY
    assert item.forget(first) == Forgotten.LAST_HOLD
    second = item.ended()
    assert item.forget(first) == Forgotten.FORGOTTEN
    assert item.forget(second) == Forgotten.LAST_HOLD
    assert item.reserve().outcome == Outcome.RESERVED


def test_many_are_forgotten_in_one_call_with_an_answer_for_each(item: CheckedItem) -> None:
    reservation_id = two_ended(item)
    ids = [reservation_id, item.new_id(), item.held()]
    answers = ledger.forget(item_id=ITEM_ID, reservation_ids=ids, keep_ms=-3_600_000)
    assert answers == [Forgotten.FORGOTTEN, Forgotten.UNKNOWN_HOLD, Forgotten.NOT_ENDED]
    assert ledger.forget(item_id=ITEM_ID, reservation_ids=[], keep_ms=0) == []
