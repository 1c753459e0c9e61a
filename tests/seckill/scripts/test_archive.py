"""archive.lua: each word, and that all of an item goes or nothing."""

import pytest

from seckill import ledger
from seckill.ledger_words import Archived
from tests.seckill.checked_item import HOUR_MS, ITEM_ID, CheckedItem


def filled(item: CheckedItem) -> None:
    """An item with buyers, holds, operations and an empty outbox."""
    item.publish()
    item.sold(buyer=7)
    item.ended(buyer=8)
    item.adjust(units=3)
    item.drained()


def test_nothing_of_an_archived_item_is_left(item: CheckedItem) -> None:
    filled(item)
    item.client.xadd(item.keys.dead, {"entry": "0-1"})
    assert len(item.dump()) == 7
    assert ledger.archive(item_id=ITEM_ID, over_ms=-2 * HOUR_MS) == Archived.ARCHIVED
    assert list(item.dump()) == [item.keys.dead.encode()]


@pytest.mark.parametrize("quantity", [5, None])
def test_an_item_that_nobody_wanted_is_archived_too(item: CheckedItem, quantity: int | None) -> None:
    item.publish(quantity=quantity)
    assert item.archive() == Archived.ARCHIVED


@pytest.mark.parametrize(
    ("closes_in_ms", "over_ms", "word"),
    [
        (0, 0, Archived.ARCHIVED),
        (1, 0, Archived.NOT_OVER),
        (-1000, 1000, Archived.ARCHIVED),
        (-999, 1000, Archived.NOT_OVER),
        (-1000, 999, Archived.ARCHIVED),
    ],
)
def test_a_sale_must_have_been_over_long_enough(
    item: CheckedItem, closes_in_ms: int, over_ms: int, word: Archived
) -> None:
    filled(item)
    with item.just_before("archive", f"redis.call('HSET', KEYS[1], 'closes_ms', in_ms({closes_in_ms}))"):
        assert item.archive(over_ms=over_ms) == word


def test_units_that_are_held_keep_the_item(item: CheckedItem) -> None:
    item.publish()
    item.held()
    assert item.archive(over_ms=0) == Archived.NOT_OVER
    item.drained()
    assert item.archive() == Archived.UNITS_HELD


@pytest.mark.parametrize("entries", [1, 2])
def test_an_entry_in_the_outbox_keeps_the_item(item: CheckedItem, entries: int) -> None:
    item.publish(per_buyer_max=5)
    for _ in range(entries):
        item.sold()
    assert item.archive() == Archived.OUTBOX_NOT_EMPTY
