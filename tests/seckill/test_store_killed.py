"""kill -9 of the reservation store while buyers reserve: every confirmed reservation is still there."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from seckill import ledger
from seckill.outcomes import Outcome
from seckill.store.client import StoreUnreachable
from tests.own_store import OwnStore, as_reservation_store, running
from tests.seckill.checked_item import ITEM_ID, CheckedItem

THREADS = 8
YES_BEFORE_KILL = 200


@pytest.fixture
def durable_item(tmp_path: Path) -> Iterator[CheckedItem]:
    """An item whose store syncs before it answers, as the shop's does."""
    with running(tmp_path) as own_store, as_reservation_store(own_store):
        yield CheckedItem(own_store, guarded=False)


def test_units_that_were_confirmed_before_a_kill_are_held_after_it(durable_item: CheckedItem) -> None:
    item = durable_item
    item.publish(quantity=1_000_000, per_buyer_max=1_000_000)
    told_yes: list[UUID] = []
    unanswered: list[UUID] = []

    def rush(buyer: int) -> None:
        while True:
            reservation_id = item.new_id()
            try:
                answer = item.reserve(reservation_id, buyer=buyer)
            except StoreUnreachable:
                unanswered.append(reservation_id)
                return
            assert answer.outcome == Outcome.RESERVED
            told_yes.append(reservation_id)

    with ThreadPoolExecutor(THREADS) as buyers:
        rushes = [buyers.submit(rush, buyer) for buyer in range(1, THREADS + 1)]
        kill_after(item.store, told_yes)
        for one in rushes:
            one.result()
    item.store.start()

    assert len(unanswered) == THREADS
    assert {str(reservation_id) for reservation_id in told_yes} <= item.holds().keys()
    item.check_invariants()
    assert {item.reserve(reservation_id).outcome for reservation_id in unanswered} == {Outcome.UNAVAILABLE}
    item.mark_verified()
    repeated = [item.reserve(reservation_id).outcome for reservation_id in unanswered]
    assert set(repeated) <= {Outcome.RESERVED, Outcome.ALREADY_RESERVED}
    assert item.counters()[1] == str(len(told_yes) + len(unanswered))
    item.check_invariants()


def kill_after(store: OwnStore, told_yes: list[UUID]) -> None:
    while len(told_yes) < YES_BEFORE_KILL:
        pass
    store.kill()


def test_a_store_that_is_down_is_a_fault_and_not_a_refusal(durable_item: CheckedItem) -> None:
    item = durable_item
    item.publish()
    reservation_id = item.held()
    item.store.kill()
    calls = (item.reserve, partial(item.confirm, reservation_id), partial(item.release, reservation_id))
    for call in (*calls, partial(ledger.read, item_id=ITEM_ID)):
        with pytest.raises(StoreUnreachable):
            call()
    item.store.start()
    item.mark_verified()
    assert item.reserve(reservation_id).outcome == Outcome.ALREADY_RESERVED
