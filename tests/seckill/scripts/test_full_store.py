"""A store that fills up during a sale: reservations stay, new ones are faults, releasing still works."""

from uuid import UUID

import pytest

from seckill import ledger
from seckill.ledger_words import Adjusted, Confirmed, Released, ReleaseReason, RestoreAs, Restored
from seckill.outbox import outbox
from seckill.outcomes import Outcome
from seckill.store.client import StoreUnreachable
from tests.seckill.checked_item import ITEM_ID, CheckedItem

ROOM_BYTES = 400_000


def test_a_store_that_fills_up_loses_nothing_and_oversells_nothing(item: CheckedItem) -> None:
    item.publish(quantity=1_000_000)
    item.guarded = False
    with item.store.full(room_bytes=ROOM_BYTES):
        told_yes = fill_up(item)
        assert len(told_yes) > 100
        item.check_invariants()
        assert item.holds().keys() == {str(reservation_id) for reservation_id in told_yes}

        paid, unpaid = told_yes[::2], told_yes[1::2]
        assert set(ledger.confirm(item_id=ITEM_ID, reservation_ids=paid)) == {Confirmed.CONFIRMED}
        answers = ledger.release(item_id=ITEM_ID, reservation_ids=unpaid, reason=ReleaseReason.EXPIRED)
        assert set(answers) == {Released.RELEASED}
        assert item.counters() == (str(1_000_000 - len(paid)), "0", str(len(paid)))
        item.check_invariants()

        # Late payments and changes of the sale must work on a full store.
        for late in unpaid[:2]:
            assert item.restore(late, state=RestoreAs.LATE_PAYMENT, buyer=9) == Restored.RESTORED
        assert item.adjust(units=-1_000, state="paused").word == Adjusted.ADJUSTED
        assert item.counters() == (str(999_000 - len(paid) - 2), "0", str(len(paid) + 2))
        item.check_invariants()
        assert item.adjust(state="open").word == Adjusted.ADJUSTED

        while entries := outbox.read_batch(item_id=ITEM_ID, count_max=100):
            outbox.acknowledge(item_id=ITEM_ID, entry_ids=[entry.id for entry in entries])
        assert item.entries() == []
    assert item.reserve(buyer=1).outcome == Outcome.RESERVED


def fill_up(item: CheckedItem) -> list[UUID]:
    """Reserve for one buyer after another until the store is full. Returns the reservations made."""
    told_yes: list[UUID] = []
    for buyer in range(10, 10_000):
        reservation_id = item.new_id()
        try:
            answer = item.reserve(reservation_id, buyer=buyer)
        except StoreUnreachable:
            return told_yes
        assert answer.outcome == Outcome.RESERVED
        told_yes.append(reservation_id)
    pytest.fail("the store never filled up")
