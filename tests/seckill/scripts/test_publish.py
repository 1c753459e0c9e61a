"""publish.lua: each word, each precedence, each key."""

import pytest

from seckill import ledger, scripts
from seckill.ledger import Published
from seckill.outcomes import Outcome
from tests.seckill.stage import ITEM_ID, Stage


def test_published_terms_are_in_the_store_as_they_were_given(stage: Stage) -> None:
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
    assert stage.item() == {
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
        "incarnation": stage.client.info("replication")["master_replid"],
    }
    assert set(stage.dump()) == {b"seckill:{42}:item", b"seckill:{42}:outbox"}


def test_an_unlimited_item_has_neither_quantity_nor_left(stage: Stage) -> None:
    assert stage.publish(quantity=None) == Published.PUBLISHED
    assert not {"quantity", "left"} & stage.item().keys()


def test_an_item_may_have_nothing_on_sale(stage: Stage) -> None:
    assert stage.publish(quantity=0) == Published.PUBLISHED
    assert stage.counters() == ("0", "0", "0")


def test_an_item_may_be_published_paused(stage: Stage) -> None:
    assert stage.publish(paused=True) == Published.PUBLISHED
    assert stage.item()["state"] == "paused"
    assert stage.reserve().outcome == Outcome.PAUSED


def test_what_nobody_vouches_for_is_unavailable_until_somebody_does(stage: Stage) -> None:
    assert stage.publish(vouched=False) == Published.PUBLISHED
    assert "incarnation" not in stage.item()
    assert stage.reserve().outcome == Outcome.UNAVAILABLE
    stage.vouch()
    assert stage.reserve().outcome == Outcome.RESERVED


def test_a_second_publish_changes_nothing_whatever_its_terms(stage: Stage) -> None:
    stage.publish(quantity=5)
    stage.held()
    assert stage.publish(quantity=9, per_buyer_max=9) == Published.ALREADY_PUBLISHED
    assert stage.counters() == ("4", "1", "0")


def test_publishing_makes_an_empty_outbox_with_its_reader(stage: Stage) -> None:
    stage.publish()
    assert stage.entries() == []
    [group] = stage.client.xinfo_groups(stage.keys.outbox)
    assert (group["name"], group["last-delivered-id"]) == (b"intake", b"0-0")


def test_an_outbox_that_outlived_its_item_keeps_its_entries_and_its_readers_place(stage: Stage) -> None:
    stage.publish()
    stage.held()
    stage.client.xreadgroup("intake", "reader", {stage.keys.outbox: ">"})
    outbox = stage.dump()[b"seckill:{42}:outbox"]
    stage.client.delete(stage.keys.item)
    with stage.unguarded():
        assert stage.publish() == Published.PUBLISHED
    assert stage.dump()[b"seckill:{42}:outbox"] == outbox


def test_an_outbox_that_outlived_its_item_and_lost_its_reader_gets_one_that_starts_at_the_first_entry(
    stage: Stage,
) -> None:
    stage.publish()
    stage.held()
    stage.client.delete(stage.keys.item)
    stage.client.xgroup_destroy(stage.keys.outbox, "intake")
    with stage.unguarded():
        stage.publish()
    [(_, entries)] = stage.client.xreadgroup("intake", "reader", {stage.keys.outbox: ">"})
    assert len(entries) == 1


def test_a_full_store_refuses_to_publish_and_holds_nothing_of_it(stage: Stage) -> None:
    with stage.store.full(), pytest.raises(ledger.StoreUnreachable, match="maxmemory"):
        stage.publish()
    assert stage.dump() == {}


@pytest.mark.parametrize(("keys", "args"), [(1, 9), (3, 9), (2, 8), (2, 10)])
def test_publish_takes_two_keys_and_nine_arguments(stage: Stage, keys: int, args: int) -> None:
    args_given = ["5", "1", "2", "3", "1", "1900", "CNY", "open", "1", "more"][:args]
    message = "publish takes 2 keys and 9 arguments"
    stage.is_refused(scripts.PUBLISH, keys=keys, args=args_given, message=message)
