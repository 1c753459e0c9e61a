"""publish.lua: each word, each precedence, each key."""

from unittest import mock

import pytest

from seckill import ledger
from seckill.ledger_words import Published
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from seckill.store.scripts import Script
from tests.seckill.checked_item import ITEM_ID, CheckedItem, says


def test_published_terms_are_in_the_store_as_they_were_given(item: CheckedItem) -> None:
    terms = ledger.Terms(
        quantity=500,
        opens_ms=1767225600000,
        closes_ms=1767229200000,
        hold_ms=900000,
        per_buyer_max=2,
        price_minor=1900,
        currency="CNY",
    )
    assert ledger.publish(item_id=ITEM_ID, terms=terms) == Published.PUBLISHED
    assert item.item() == {
        "quantity": "500",
        "left": "500",
        "held": "0",
        "sold": "0",
        "reservations": "0",
        "state": "open",
        "opens_ms": "1767225600000",
        "closes_ms": "1767229200000",
        "hold_ms": "900000",
        "per_buyer_max": "2",
        "price_minor": "1900",
        "currency": "CNY",
        "incarnation": item.client.info("replication")["master_replid"],
    }
    assert set(item.dump()) == {b"seckill:{42}:item", b"seckill:{42}:outbox"}


def test_an_unlimited_item_has_neither_quantity_nor_left(item: CheckedItem) -> None:
    assert item.publish(quantity=None) == Published.PUBLISHED
    assert not {"quantity", "left"} & item.item().keys()


def test_a_second_publish_changes_nothing_whatever_its_terms(item: CheckedItem) -> None:
    item.publish(quantity=5)
    item.held()
    assert item.publish(quantity=9, per_buyer_max=9) == Published.ALREADY_PUBLISHED
    assert item.counters() == ("4", "1", "0")


def test_an_outbox_whose_item_was_lost_keeps_its_entries_and_its_position(item: CheckedItem) -> None:
    item.publish()
    item.held()
    item.client.xreadgroup("intake", "reader", {item.keys.outbox: ">"})
    outbox = item.dump()[b"seckill:{42}:outbox"]
    item.client.delete(item.keys.item)
    with item.unguarded():
        assert item.publish() == Published.PUBLISHED
    assert item.dump()[b"seckill:{42}:outbox"] == outbox


def test_an_outbox_whose_item_and_group_were_lost_gets_a_group_from_the_first_entry(
    item: CheckedItem,
) -> None:
    item.publish()
    item.held()
    item.client.delete(item.keys.item)
    item.client.xgroup_destroy(item.keys.outbox, "intake")
    with item.unguarded():
        item.publish()
    [(_, entries)] = item.client.xreadgroup("intake", "reader", {item.keys.outbox: ">"})
    assert len(entries) == 1


# --- nothing is written before the replication id is known ---


def without_replication_id() -> Script:
    return Script("publish", scripts.PUBLISH.source.replace("master_replid", "of_another_server"))


def test_without_a_replication_id_nothing_is_published(item: CheckedItem) -> None:
    with (
        mock.patch.object(scripts, "PUBLISH", without_replication_id()),
        pytest.raises(StoreUnreachable, match=says("the replication id is missing")),
    ):
        item.publish()
    assert item.dump() == {}


def test_without_a_replication_id_an_unverified_item_is_published(item: CheckedItem) -> None:
    with mock.patch.object(scripts, "PUBLISH", without_replication_id()):
        assert item.publish(verified=False) == Published.PUBLISHED


def test_where_info_is_forbidden_nothing_is_published(item: CheckedItem) -> None:
    """As with an account of a managed service."""
    item.client.acl_setuser("default", enabled=True, commands=["-info"])
    try:
        with pytest.raises(StoreUnreachable):
            item.publish()
    finally:
        item.client.acl_setuser("default", enabled=True, commands=["+info"])
    assert item.dump() == {}
