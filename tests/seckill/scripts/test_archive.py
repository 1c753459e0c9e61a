"""archive.lua: each word, and that all of an item goes or nothing."""

import pytest

from seckill import ledger
from seckill.ledger_words import Archived, Published
from seckill.store import scripts
from seckill.store.scripts import Script
from tests.seckill.checked_item import HOUR_MS, ITEM_ID, CheckedItem

# Runs before archive.lua in the same script, so that both see the same time.
CLOSES_FROM_NOW = """
local close_clock = redis.call('TIME')
local close_now_ms = close_clock[1] * 1000 + math.floor(close_clock[2] / 1000)
redis.call('HSET', KEYS[1], 'closes_ms', string.format('%.0f', close_now_ms + ({closes})))
"""


def filled(checked_item: CheckedItem) -> None:
    """An item with buyers, holds, operations and an empty outbox."""
    checked_item.publish()
    checked_item.sold(buyer=7)
    checked_item.ended(buyer=8)
    checked_item.adjust(units=3)
    checked_item.drained()


def archived_at(checked_item: CheckedItem, *, closes_in_ms: int, over_ms: int) -> str:
    """The answer at the moment that is `closes_in_ms` before the end."""
    script = Script("archive", CLOSES_FROM_NOW.format(closes=closes_in_ms) + scripts.ARCHIVE.source)
    keys = checked_item.keys
    names = [keys.item, keys.buyers, keys.holds, keys.outbox, keys.ops, keys.latest]
    return script.run(checked_item.client, keys=names, args=[over_ms])[0]


def test_nothing_of_an_archived_item_is_left(checked_item: CheckedItem) -> None:
    filled(checked_item)
    checked_item.client.xadd(checked_item.keys.dead, {"entry": "0-1"})
    assert len(checked_item.dump()) == 7
    assert ledger.archive(item_id=ITEM_ID, over_ms=-2 * HOUR_MS) == Archived.ARCHIVED
    assert list(checked_item.dump()) == [checked_item.keys.dead.encode()]


@pytest.mark.parametrize("quantity", [5, None])
def test_an_item_that_nobody_wanted_is_archived_too(checked_item: CheckedItem, quantity: int | None) -> None:
    checked_item.publish(quantity=quantity)
    assert checked_item.archive() == Archived.ARCHIVED


def test_an_archived_item_can_be_published_again(checked_item: CheckedItem) -> None:
    filled(checked_item)
    checked_item.archive()
    assert checked_item.publish() == Published.PUBLISHED


@pytest.mark.parametrize("part", ["closes_ms", "held"])
def test_an_item_that_lost_a_field_is_unavailable_and_stays(checked_item: CheckedItem, part: str) -> None:
    filled(checked_item)
    checked_item.client.hdel(checked_item.keys.item, part)
    assert checked_item.archive() == Archived.UNAVAILABLE


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
    checked_item: CheckedItem, closes_in_ms: int, over_ms: int, word: Archived
) -> None:
    filled(checked_item)
    assert archived_at(checked_item, closes_in_ms=closes_in_ms, over_ms=over_ms) == word


def test_not_over_comes_before_what_is_held(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held()
    assert checked_item.archive(over_ms=0) == Archived.NOT_OVER


def test_units_that_are_held_keep_the_item(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held()
    assert checked_item.archive() == Archived.UNITS_HELD
    checked_item.drained()
    assert checked_item.archive() == Archived.UNITS_HELD


@pytest.mark.parametrize("held", ["-1", "2"])
def test_a_count_of_held_units_that_is_wrong_keeps_the_item(checked_item: CheckedItem, held: str) -> None:
    filled(checked_item)
    checked_item.client.hset(checked_item.keys.item, "held", held)
    assert checked_item.archive() == Archived.UNITS_HELD


@pytest.mark.parametrize("entries", [1, 2])
def test_an_entry_in_the_outbox_keeps_the_item(checked_item: CheckedItem, entries: int) -> None:
    checked_item.publish(per_buyer_max=5)
    for _ in range(entries):
        checked_item.sold()
    assert checked_item.archive() == Archived.OUTBOX_NOT_EMPTY


def test_a_full_store_still_archives(checked_item: CheckedItem) -> None:
    filled(checked_item)
    with checked_item.store.full():
        assert checked_item.archive() == Archived.ARCHIVED


def test_a_time_that_is_no_number_is_refused(checked_item: CheckedItem) -> None:
    filled(checked_item)
    checked_item.is_refused(scripts.ARCHIVE, keys=6, args=["long"], message="over_ms is a number")
