"""What the harness looks for in a store whose file was cut: a reservation of which only a part is there."""

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


def test_a_part_of_a_reservation_is_found_and_complete_ones_are_consistent(sold: SaleItem, store: Any) -> None:
    keys = keys_of(sold.pk)
    assert inconsistencies(store, item_id=sold.pk) == []
    for hash_name, field, problem in (
        (keys.item, "left", "units are missing or too many"),
        (keys.item, "held", "the counters do not match the holds"),
        (keys.buyers, "1", "the buyers' units do not match the holds"),
    ):
        store.hincrby(hash_name, field, 1)
        assert problem in inconsistencies(store, item_id=sold.pk)
        store.hincrby(hash_name, field, -1)
    store.hset(keys.holds, "torn", "ended:9:1:0")
    assert inconsistencies(store, item_id=sold.pk) == ["not every hold has its outbox entry"]
    store.hdel(keys.holds, "torn")
    store.xadd(keys.outbox, {"reservation": "torn"})
    assert "an outbox entry has no hold" in inconsistencies(store, item_id=sold.pk)
