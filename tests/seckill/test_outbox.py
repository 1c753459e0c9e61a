"""The outbox: entries are read until they are acknowledged, also after their consumer died or the group was lost."""

import pytest

from seckill.outbox import outbox
from seckill.store.client import StoreUnreachable
from tests.seckill.checked_item import ITEM_ID, CheckedItem


def read(*, count_max: int = 100, consumer: str = "reader") -> list[outbox.Entry]:
    return outbox.read_batch(item_id=ITEM_ID, count_max=count_max, consumer=consumer)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry can be taken over as soon as it was read, as if its consumer had been idle for long."""
    monkeypatch.setattr(outbox, "TAKE_OVER_IDLE_MS", 0)


@pytest.fixture
def on_sale(checked_item: CheckedItem) -> CheckedItem:
    checked_item.publish(quantity=None, per_buyer_max=1000)
    return checked_item


def test_entries_come_in_the_order_in_which_they_were_reserved(on_sale: CheckedItem) -> None:
    reservation_ids = [on_sale.held() for _ in range(5)]
    entries = read()
    assert [entry.fields["reservation"] for entry in entries] == [str(one) for one in reservation_ids]
    assert [entry.fields for entry in entries] == on_sale.entries()


def test_an_entry_goes_to_no_other_reader_while_its_own_is_at_work(on_sale: CheckedItem) -> None:
    assert read() == []
    on_sale.held()
    assert len(read(consumer="reader")) == 1
    assert read(consumer="other") == []
    assert outbox.backlogs(item_ids=[ITEM_ID]) == {ITEM_ID: 1}


@pytest.mark.usefixtures("at_once")
def test_an_entry_of_a_reader_that_died_is_taken_over(on_sale: CheckedItem) -> None:
    on_sale.held()
    first = read(consumer="dead")
    assert read(consumer="other") == first


@pytest.mark.usefixtures("at_once")
def test_a_batch_is_never_larger_than_asked_and_the_entries_of_the_dead_come_first(on_sale: CheckedItem) -> None:
    for _ in range(7):
        on_sale.held()
    of_the_dead = read(count_max=4, consumer="dead")
    batch = read(count_max=6, consumer="other")
    assert len(batch) == 6
    assert batch[:4] == of_the_dead
    assert len(read(count_max=2, consumer="third")) == 2


@pytest.mark.usefixtures("at_once")
def test_acknowledged_entries_are_removed(on_sale: CheckedItem) -> None:
    on_sale.held()
    kept = on_sale.held()
    first, _ = read()
    outbox.acknowledge(item_id=ITEM_ID, entry_ids=[first.id])
    assert [entry.fields["reservation"] for entry in read()] == [str(kept)]
    assert outbox.backlogs(item_ids=[ITEM_ID]) == {ITEM_ID: 1}
    outbox.acknowledge(item_id=ITEM_ID, entry_ids=[first.id])
    outbox.acknowledge(item_id=ITEM_ID, entry_ids=[])
    assert outbox.backlogs(item_ids=[ITEM_ID]) == {ITEM_ID: 1}


def test_a_dead_letter_has_its_error_and_is_nowhere_else(on_sale: CheckedItem) -> None:
    on_sale.held()
    [entry] = read()
    outbox.move_to_dead_letters(item_id=ITEM_ID, entry=entry, error="no such buyer" + "!" * 1000)
    [(_, letter)] = on_sale.client.xrange(on_sale.keys.dead)
    expected = {**entry.fields, "entry": entry.id, "error": ("no such buyer" + "!" * 1000)[:500]}
    assert {name.decode(): value.decode() for name, value in letter.items()} == expected
    assert on_sale.entries() == []
    assert on_sale.client.xpending(on_sale.keys.outbox, outbox.GROUP)["pending"] == 0


def test_an_entry_that_cannot_be_moved_to_the_dead_letters_stays_in_the_outbox(on_sale: CheckedItem) -> None:
    on_sale.held()
    [entry] = read()
    with on_sale.store.full(), pytest.raises(StoreUnreachable), on_sale.nothing_changes():
        outbox.move_to_dead_letters(item_id=ITEM_ID, entry=entry, error="no such buyer")


def test_an_item_without_an_outbox_has_nothing_to_read(checked_item: CheckedItem) -> None:
    assert read() == []
    assert checked_item.dump() == {}
    assert outbox.backlogs(item_ids=[ITEM_ID, 43]) == {}


@pytest.mark.usefixtures("at_once")
def test_an_outbox_that_lost_its_group_is_read_from_its_first_entry(on_sale: CheckedItem) -> None:
    delivered = on_sale.held()
    read()
    on_sale.client.xgroup_destroy(on_sale.keys.outbox, outbox.GROUP)
    new = on_sale.held()
    assert [entry.fields["reservation"] for entry in read()] == [str(delivered), str(new)]
    assert read(consumer="other") == read()


def test_other_errors_of_the_store_come_out_as_faults(on_sale: CheckedItem) -> None:
    on_sale.client.set(on_sale.keys.outbox, "no stream")
    with pytest.raises(StoreUnreachable, match="WRONGTYPE"):
        read()


def test_entries_of_any_bytes_can_be_read_and_become_dead_letters(on_sale: CheckedItem) -> None:
    on_sale.held()
    on_sale.client.xadd(on_sale.keys.outbox, {b"\xff\xfe": b"\x00\xff", b"": b""})
    good, bad = read()
    outbox.move_to_dead_letters(item_id=ITEM_ID, entry=bad, error="no reservation")
    assert on_sale.entries() == [good.fields]


@pytest.mark.usefixtures("at_once")
def test_a_full_store_lets_the_entries_of_the_dead_be_taken_over(on_sale: CheckedItem) -> None:
    on_sale.held()
    read(consumer="dead")
    with on_sale.store.full():
        assert len(read(consumer="other")) == 1
