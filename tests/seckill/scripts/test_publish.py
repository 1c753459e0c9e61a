"""publish.lua: each word, each precedence, each key."""

from unittest import mock

import pytest

from seckill import ledger
from seckill.ledger_words import Published
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from seckill.store.scripts import Script
from tests.seckill.checked_item import ITEM_ID, CheckedItem, says


def test_published_terms_are_in_the_store_as_they_were_given(checked_item: CheckedItem) -> None:
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
    assert checked_item.item() == {
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
        "incarnation": checked_item.client.info("replication")["master_replid"],
    }
    assert set(checked_item.dump()) == {b"seckill:{42}:item", b"seckill:{42}:outbox"}


def test_an_unlimited_item_has_neither_quantity_nor_left(checked_item: CheckedItem) -> None:
    assert checked_item.publish(quantity=None) == Published.PUBLISHED
    assert not {"quantity", "left"} & checked_item.item().keys()


def test_an_item_may_have_nothing_on_sale(checked_item: CheckedItem) -> None:
    assert checked_item.publish(quantity=0) == Published.PUBLISHED
    assert checked_item.counters() == ("0", "0", "0")


def test_an_item_may_be_published_paused(checked_item: CheckedItem) -> None:
    assert checked_item.publish(paused=True) == Published.PUBLISHED
    assert checked_item.item()["state"] == "paused"
    assert checked_item.reserve().outcome == Outcome.PAUSED


def test_an_unverified_item_is_unavailable_until_it_is_verified(checked_item: CheckedItem) -> None:
    assert checked_item.publish(verified=False) == Published.PUBLISHED
    assert "incarnation" not in checked_item.item()
    assert checked_item.reserve().outcome == Outcome.UNAVAILABLE
    checked_item.mark_verified()
    assert checked_item.reserve().outcome == Outcome.RESERVED


def test_a_second_publish_changes_nothing_whatever_its_terms(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5)
    checked_item.held()
    assert checked_item.publish(quantity=9, per_buyer_max=9) == Published.ALREADY_PUBLISHED
    assert checked_item.counters() == ("4", "1", "0")


def test_publishing_creates_an_empty_outbox_with_its_consumer_group(checked_item: CheckedItem) -> None:
    checked_item.publish()
    assert checked_item.entries() == []
    [group] = checked_item.client.xinfo_groups(checked_item.keys.outbox)
    assert (group["name"], group["last-delivered-id"]) == (b"intake", b"0-0")


def test_an_outbox_whose_item_was_lost_keeps_its_entries_and_its_position(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held()
    checked_item.client.xreadgroup("intake", "reader", {checked_item.keys.outbox: ">"})
    outbox = checked_item.dump()[b"seckill:{42}:outbox"]
    checked_item.client.delete(checked_item.keys.item)
    with checked_item.unguarded():
        assert checked_item.publish() == Published.PUBLISHED
    assert checked_item.dump()[b"seckill:{42}:outbox"] == outbox


def test_an_outbox_whose_item_and_group_were_lost_gets_a_group_from_the_first_entry(
    checked_item: CheckedItem,
) -> None:
    checked_item.publish()
    checked_item.held()
    checked_item.client.delete(checked_item.keys.item)
    checked_item.client.xgroup_destroy(checked_item.keys.outbox, "intake")
    with checked_item.unguarded():
        checked_item.publish()
    [(_, entries)] = checked_item.client.xreadgroup("intake", "reader", {checked_item.keys.outbox: ">"})
    assert len(entries) == 1


def test_a_full_store_refuses_to_publish_and_keeps_nothing_of_it(checked_item: CheckedItem) -> None:
    with checked_item.store.full(), pytest.raises(StoreUnreachable, match="maxmemory"):
        checked_item.publish()
    assert checked_item.dump() == {}


# --- nothing is written before the replication id is known ---


def without_replication_id() -> Script:
    return Script("publish", scripts.PUBLISH.source.replace("master_replid", "of_another_server"))


def test_without_a_replication_id_nothing_is_published(checked_item: CheckedItem) -> None:
    with (
        mock.patch.object(scripts, "PUBLISH", without_replication_id()),
        pytest.raises(StoreUnreachable, match=says("the replication id is missing")),
    ):
        checked_item.publish()
    assert checked_item.dump() == {}


def test_without_a_replication_id_an_unverified_item_is_published(checked_item: CheckedItem) -> None:
    with mock.patch.object(scripts, "PUBLISH", without_replication_id()):
        assert checked_item.publish(verified=False) == Published.PUBLISHED


def test_where_info_is_forbidden_nothing_is_published(checked_item: CheckedItem) -> None:
    """As with an account of a managed service."""
    checked_item.client.acl_setuser("default", enabled=True, commands=["-info"])
    try:
        with pytest.raises(StoreUnreachable):
            checked_item.publish()
    finally:
        checked_item.client.acl_setuser("default", enabled=True, commands=["+info"])
    assert checked_item.dump() == {}
