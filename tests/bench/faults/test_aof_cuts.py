"""What the harness looks for in a store whose file was cut: a reservation of which only a part is there."""

from collections.abc import Callable
from typing import Any

import pytest

from bench.faults.kinds.aof_cuts import inconsistencies
from seckill import ledger
from seckill.ledger_words import ReleaseReason
from seckill.models import SaleItem
from seckill.passes import passes
from seckill.store.keys import keys_of


@pytest.fixture
def sold(item: SaleItem) -> SaleItem:
    """An item with a hold, one that was paid, and one that was given back."""
    ids = [passes.new_reservation_id(item.pk) for _ in range(3)]
    for buyer_id, reservation_id in enumerate(ids, start=1):
        ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer_id, units=1)
    ledger.confirm(item_id=item.pk, reservation_ids=ids[1:2])
    ledger.release(item_id=item.pk, reservation_ids=ids[2:], reason=ReleaseReason.EXPIRED)
    return item


def test_complete_reservations_are_consistent(sold: SaleItem, store: Any) -> None:
    assert inconsistencies(store, item_id=sold.pk) == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda store, keys: store.hincrby(keys.item, "left", 1), "units are missing or too many"),
        (lambda store, keys: store.hincrby(keys.item, "held", 1), "the counters do not match the holds"),
        (lambda store, keys: store.hincrby(keys.buyers, "1", 1), "the buyers' units do not match the holds"),
        (lambda store, keys: store.hset(keys.holds, "torn", "ended:9:1:0"), "not every hold has its outbox entry"),
        (lambda store, keys: store.xadd(keys.outbox, {"reservation": "torn"}), "an outbox entry has no hold"),
    ],
    ids=["left", "held", "buyers", "hold", "entry"],
)
def test_a_part_of_a_reservation_is_found(
    sold: SaleItem, store: Any, damage: Callable[[Any, Any], object], problem: str
) -> None:
    damage(store, keys_of(sold.pk))
    assert problem in inconsistencies(store, item_id=sold.pk)
