"""kill -9 of the reservation store in the middle of a rush: every buyer who was told yes still holds the units."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest

from seckill import ledger
from seckill.ledger import Confirmed, Released
from seckill.outcomes import Outcome
from tests.own_store import OwnStore, as_reservation_store, running
from tests.seckill.stage import ITEM_ID, Stage

THREADS = 8
YES_BEFORE_KILL = 200


@pytest.fixture
def durable_stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage whose store syncs before it answers, as the shop's does."""
    with running(tmp_path) as own_store, as_reservation_store(own_store):
        yield Stage(own_store, guarded=False)


def test_what_was_told_yes_before_a_kill_is_held_after_it(durable_stage: Stage) -> None:
    stage = durable_stage
    stage.publish(quantity=1_000_000, per_buyer_max=1_000_000)
    told_yes: list[UUID] = []
    unanswered: list[UUID] = []

    def rush(buyer: int) -> None:
        while True:
            reservation_id = stage.new_id()
            try:
                answer = stage.reserve(reservation_id, buyer=buyer)
            except ledger.StoreUnreachable:
                unanswered.append(reservation_id)
                return
            assert answer.outcome == Outcome.RESERVED
            told_yes.append(reservation_id)

    with ThreadPoolExecutor(THREADS) as buyers:
        rushes = [buyers.submit(rush, buyer) for buyer in range(1, THREADS + 1)]
        kill_after(stage.store, told_yes)
        for one in rushes:
            one.result()
    stage.store.start()

    assert len(unanswered) == THREADS
    assert {str(reservation_id) for reservation_id in told_yes} <= stage.holds().keys()
    stage.check_invariants()
    assert {stage.reserve(reservation_id).outcome for reservation_id in unanswered} == {Outcome.UNAVAILABLE}
    stage.vouch()
    repeated = [stage.reserve(reservation_id).outcome for reservation_id in unanswered]
    assert set(repeated) <= {Outcome.RESERVED, Outcome.ALREADY_RESERVED}
    assert stage.counters()[1] == str(len(told_yes) + len(unanswered))
    stage.check_invariants()


def kill_after(store: OwnStore, told_yes: list[UUID]) -> None:
    while len(told_yes) < YES_BEFORE_KILL:
        pass
    store.kill()


def test_a_store_that_is_down_is_a_fault_and_not_a_refusal(durable_stage: Stage) -> None:
    durable_stage.publish()
    reservation_id = durable_stage.held()
    durable_stage.store.kill()
    with pytest.raises(ledger.StoreUnreachable):
        durable_stage.reserve()
    with pytest.raises(ledger.StoreUnreachable):
        durable_stage.confirm(reservation_id)
    with pytest.raises(ledger.StoreUnreachable):
        durable_stage.release(reservation_id)
    with pytest.raises(ledger.StoreUnreachable):
        ledger.read(item_id=ITEM_ID)
    durable_stage.store.start()
    durable_stage.vouch()
    assert durable_stage.reserve(reservation_id).outcome == Outcome.ALREADY_RESERVED


def test_a_store_that_was_restarted_is_unavailable_until_somebody_vouches_for_it(durable_stage: Stage) -> None:
    stage = durable_stage
    stage.publish(quantity=2)
    first, second = stage.held(), stage.held()
    stage.store.kill()
    stage.store.start()
    assert stage.reserve(first).outcome == Outcome.UNAVAILABLE
    assert stage.reserve(buyer=8).outcome == Outcome.UNAVAILABLE
    assert ledger.read(item_id=ITEM_ID) is None
    # What is told of single orders needs nobody's word: it is idempotent, and right or unknown.
    assert stage.confirm(first) == Confirmed.CONFIRMED
    assert stage.release(second) == Released.RELEASED
    stage.vouch()
    assert stage.reserve(first).outcome == Outcome.ALREADY_RESERVED
    counters = ledger.read(item_id=ITEM_ID)
    assert counters is not None
    assert (counters.left, counters.held, counters.sold) == (1, 0, 1)
