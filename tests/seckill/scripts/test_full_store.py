"""A store that fills up while a sale runs: what was told yes stays, what comes after is a fault, giving back works."""

from uuid import UUID

import pytest

from seckill import ledger, outbox
from seckill.ledger import Adjusted, Confirmed, Reason, Released, Restore, Restored
from seckill.outcomes import Outcome
from tests.seckill.stage import ITEM_ID, Stage

ROOM_BYTES = 400_000


def test_a_store_that_fills_up_loses_nothing_and_oversells_nothing(stage: Stage) -> None:
    stage.publish(quantity=1_000_000)
    stage.guarded = False
    with stage.store.full(room_bytes=ROOM_BYTES):
        told_yes = fill_up(stage)
        assert len(told_yes) > 100
        stage.check_invariants()
        assert stage.holds().keys() == {str(reservation_id) for reservation_id in told_yes}

        paid, unpaid = told_yes[::2], told_yes[1::2]
        assert set(ledger.confirm(item_id=ITEM_ID, reservation_ids=paid)) == {Confirmed.CONFIRMED}
        answers = ledger.release(item_id=ITEM_ID, reservation_ids=unpaid, reason=Reason.EXPIRED)
        assert set(answers) == {Released.RELEASED}
        assert stage.counters() == (str(1_000_000 - len(paid)), "0", str(len(paid)))
        stage.check_invariants()

        # Money that came late, and the shop's own changes: neither may wait for room.
        for late in unpaid[:2]:
            assert stage.restore(late, state=Restore.LATE_PAYMENT, buyer=9) == Restored.RESTORED
        assert stage.adjust(units=-1_000, state="paused").word == Adjusted.ADJUSTED
        assert stage.counters() == (str(999_000 - len(paid) - 2), "0", str(len(paid) + 2))
        stage.check_invariants()
        assert stage.adjust(state="open").word == Adjusted.ADJUSTED

        while entries := outbox.read_batch(item_id=ITEM_ID, count_max=100):
            outbox.acknowledge(item_id=ITEM_ID, entry_ids=[entry.id for entry in entries])
        assert stage.entries() == []
    assert stage.reserve(buyer=1).outcome == Outcome.RESERVED


def fill_up(stage: Stage) -> list[UUID]:
    """Reserve for buyer after buyer until the store has no room. Returns what was told yes."""
    told_yes: list[UUID] = []
    for buyer in range(10, 10_000):
        reservation_id = stage.new_id()
        try:
            answer = stage.reserve(reservation_id, buyer=buyer)
        except ledger.StoreUnreachable:
            return told_yes
        assert answer.outcome == Outcome.RESERVED
        told_yes.append(reservation_id)
    pytest.fail("the store never filled up")
