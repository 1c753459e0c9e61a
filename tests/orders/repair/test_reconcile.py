"""The store comes back different: unavailable until it agrees with the orders again, and nothing sold twice."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock
from uuid import UUID

import pytest
from django.db import connection

from orders import intake, lifecycle, tasks
from orders.models import Order, OrderStatus
from orders.repair import reconcile
from seckill import item_state, ledger
from seckill.changes import journal
from seckill.models import SaleChange, SaleItem
from seckill.outcomes import Outcome
from shop.models import Product
from tests.conftest import make_item
from tests.orders.repair.item_journey import River
from tests.own_store import OwnStore, as_reservation_store, running

pytestmark = pytest.mark.django_db(transaction=True)

QUANTITY = 20


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    with running(tmp_path_factory.mktemp("reconcile")) as store:
        yield store


@pytest.fixture
def river(own_store: OwnStore, product: Product) -> Iterator[River]:
    """Twenty units, two a buyer, on a store that syncs before it answers."""
    own_store.client.flushall()
    with as_reservation_store(own_store):
        yield River(own_store, make_item(product, quantity=QUANTITY, per_buyer_max=2))


def a_life(river: River) -> dict[str, UUID]:
    """An order in each state, and one reservation that is still on its way."""
    return {
        "paid": river.paid(units=2),
        "expired": river.expired(),
        "cancelled": river.cancelled(units=2),
        "ordered": river.ordered(units=2),
        "on its way": river.told_yes(),
    }


AFTER_A_LIFE = {"paid": "sold", "expired": "ended", "cancelled": "ended", "ordered": "held", "on its way": "held"}


def is_as_it_was(river: River, life: dict[str, UUID]) -> None:
    """Five units of twenty are taken, each hold says what its order says, and both stores agree."""
    assert river.counters() == (str(QUANTITY - 5), "3", "2")
    states = river.states()
    assert {name: states[str(pk)] for name, pk in life.items()} == AFTER_A_LIFE
    assert SaleItem.objects.get(pk=river.item_id).taken == 5
    assert Order.objects.count() == 5
    assert river.is_clean()


def test_a_restarted_store_is_unavailable_until_it_was_compared(river: River) -> None:
    life = a_life(river)
    river.restart()
    assert river.ask() == Outcome.UNAVAILABLE
    assert river.ask(reservation_id=life["ordered"]) == Outcome.UNAVAILABLE
    assert ledger.read(item_id=river.item_id) is None
    assert tasks.watch_store() == 1
    is_as_it_was(river, life)
    assert river.ask(reservation_id=life["ordered"]) == Outcome.ALREADY_RESERVED
    assert river.ask() == Outcome.RESERVED
    assert tasks.watch_store() == 0


def test_what_an_emptied_store_forgot_is_restored_from_the_orders(river: River) -> None:
    life = a_life(river)
    intake.drain_once(item_id=river.item_id)
    river.client.flushall()
    assert river.ask() == Outcome.UNAVAILABLE
    assert tasks.watch_store() == 1
    is_as_it_was(river, life)
    # A pass whose hold has ended must not become a second reservation with the number of the first.
    assert river.ask(reservation_id=life["expired"]) == Outcome.HOLD_ENDED


LOST = ["item", "buyers", "holds", "outbox", "ops", "item outbox", "item holds", "buyers holds", "holds outbox"]


@pytest.mark.parametrize("lost", [names.split() for names in LOST], ids="-".join)
def test_whatever_keys_are_lost_nothing_that_remains_is_forgotten(river: River, lost: list[str]) -> None:
    life = a_life(river)
    make_change(river, SaleChange.Kind.ADD_UNITS, units=1)
    make_change(river, SaleChange.Kind.WITHDRAW_UNITS, units=1)
    if lost in (["holds", "outbox"], ["ops"]):
        # Nobody else knows of a reservation that is on its way; or nobody comes by to collect it.
        intake.drain_once(item_id=river.item_id)
    river.client.delete(*(getattr(river.keys, name) for name in lost))
    if lost != ["ops"]:
        assert river.ask() == Outcome.UNAVAILABLE
        assert tasks.watch_store() == 1
    is_as_it_was(river, life)
    assert river.ask() == Outcome.RESERVED


def test_a_restored_backup_resells_nothing(river: River) -> None:
    """The store is put back to a moment before most of the sale: sold units come back as sold."""
    early = river.ordered(units=2)
    backup = {key: river.client.dump(key) for key in river.client.scan_iter()}
    assert lifecycle.pay(order_id=river.order(early).pk)
    ended = river.expired()
    later = [river.paid(units=2) for _ in range(7)]
    river.client.flushall()
    for key, value in backup.items():
        river.client.restore(key, 0, value)
    river.restart()
    assert river.ask() == Outcome.UNAVAILABLE
    assert tasks.watch_store() == 1
    assert river.counters() == (str(QUANTITY - 16), "0", "16")
    assert {river.states()[str(pk)] for pk in [early, *later]} == {"sold"}
    assert river.states()[str(ended)] == "ended"
    assert river.is_clean()
    assert [river.ask(units=2) for _ in range(3)] == [Outcome.RESERVED, Outcome.RESERVED, Outcome.HELD_BY_OTHERS]


def test_releases_that_a_backup_has_not_seen_make_room_for_orders_that_it_has_not_seen(river: River) -> None:
    """Twenty units were held at the backup, given back since, and sold to others: mending needs them in that order."""
    early = [river.ordered(units=2) for _ in range(10)]
    backup = {key: river.client.dump(key) for key in river.client.scan_iter()}
    for reservation_id in early:
        assert lifecycle.cancel(order_id=river.order(reservation_id).pk)
    later = [river.paid(units=2) for _ in range(10)]
    river.client.flushall()
    for key, value in backup.items():
        river.client.restore(key, 0, value)
    river.restart()
    assert tasks.watch_store() == 1
    assert river.counters() == ("0", "0", "20")
    assert {river.states()[str(pk)] for pk in later} == {"sold"}
    assert river.is_clean()
    assert river.ask() == Outcome.SOLD_OUT


def test_a_change_that_a_backup_has_not_seen_holds_again(river: River) -> None:
    backup = {key: river.client.dump(key) for key in river.client.scan_iter()}
    make_change(river, SaleChange.Kind.ADD_UNITS, units=5)
    make_change(river, SaleChange.Kind.UNITS_PER_BUYER, units=3)
    make_change(river, SaleChange.Kind.PAUSE)
    assert river.ask() == Outcome.PAUSED
    river.client.flushall()
    for key, value in backup.items():
        river.client.restore(key, 0, value)
    river.restart()
    assert tasks.watch_store() == 1
    assert river.item()["quantity"] == "25"
    assert river.item()["per_buyer_max"] == "3"
    assert river.ask() == Outcome.PAUSED
    make_change(river, SaleChange.Kind.RESUME)
    assert river.ask(units=3) == Outcome.RESERVED
    assert river.is_clean()


def test_units_whose_addition_is_on_its_way_are_added_once(river: River) -> None:
    """PostgreSQL has them from the beginning, the rebuilt item only when the store applies the change."""
    with mock.patch.object(ledger, "adjust", side_effect=ledger.StoreUnreachable):
        make_change(river, SaleChange.Kind.ADD_UNITS, units=5)
    assert SaleItem.objects.get(pk=river.item_id).quantity == QUANTITY + 5
    river.client.flushall()
    tasks.watch_store()
    journal.sweep_changes()
    assert river.item()["quantity"] == str(QUANTITY + 5)
    assert river.item()["left"] == str(QUANTITY + 5)
    assert river.is_clean()


def test_entries_that_a_dead_worker_has_read_become_orders_at_once(river: River) -> None:
    told_yes = [river.told_yes() for _ in range(3)]
    river.client.xreadgroup("intake", "dead", {river.keys.outbox: ">"})
    river.restart()
    assert tasks.watch_store() == 1
    assert set(Order.objects.values_list("reservation_id", flat=True)) == set(told_yes)
    assert river.entries() == []


@pytest.mark.parametrize("damage", ["nonsense", "held:7:x:1", "held:7:1"])
def test_a_hold_that_cannot_be_read_is_written_anew(river: River, damage: str) -> None:
    life = a_life(river)
    intake.drain_once(item_id=river.item_id)
    river.client.hset(river.keys.holds, str(life["paid"]), damage)
    river.restart()
    assert tasks.watch_store() == 1
    is_as_it_was(river, life)


@pytest.mark.parametrize(
    ("field", "value"), [("held", "9"), ("sold", "1"), ("left", "20"), ("quantity", "21"), ("closes_ms", "1")]
)
def test_counters_and_terms_that_are_wrong_are_written_anew(river: River, field: str, value: str) -> None:
    life = a_life(river)
    river.client.hset(river.keys.item, field, value)
    reconcile.reconcile(item_id=river.item_id)
    is_as_it_was(river, life)


STEPS = ("collect", "is_whole", "publish_anew", "mend", "mend_lines")


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_it_is_unavailable_and_the_next_attempt_goes_on(river: River, step: str) -> None:
    life = a_life(river)
    intake.drain_once(item_id=river.item_id)
    river.client.delete(river.keys.item)
    with mock.patch.object(reconcile, step, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        tasks.watch_store()
    assert river.ask() == Outcome.UNAVAILABLE
    assert tasks.watch_store() == 1
    is_as_it_was(river, life)


def test_killed_after_some_orders_were_restored_the_rest_follows(river: River) -> None:
    life = a_life(river)
    intake.drain_once(item_id=river.item_id)
    river.client.flushall()
    real, batches = reconcile.mend_lines, itertools.count()

    def die_in_the_second(**arguments: Any) -> None:
        if next(batches) == 1:
            raise KeyboardInterrupt
        real(**arguments)

    with (
        mock.patch.object(reconcile, "BATCH_MAX", 2),
        mock.patch.object(reconcile, "mend_lines", die_in_the_second),
        pytest.raises(KeyboardInterrupt),
    ):
        tasks.watch_store()
    assert len(river.holds()) == 2
    assert tasks.watch_store() == 1
    is_as_it_was(river, life)


def test_a_store_that_changes_again_meanwhile_is_not_vouched_for(river: River) -> None:
    life = a_life(river)
    river.restart()
    with mock.patch.object(item_state, "incarnation", return_value="0" * 40):
        reconcile.reconcile(item_id=river.item_id)
    assert river.ask() == Outcome.UNAVAILABLE
    assert tasks.watch_store() == 1
    is_as_it_was(river, life)


def test_a_store_that_came_back_on_weaker_settings_is_said_out_loud(
    river: River, caplog: pytest.LogCaptureFixture
) -> None:
    river.restart()
    river.client.config_set("appendfsync", "everysec")
    try:
        assert tasks.watch_store() == 1
    finally:
        river.client.config_set("appendfsync", "always")
    assert "store_came_back_weaker" in caplog.text
    assert river.ask() == Outcome.RESERVED


def test_two_workers_reconcile_an_item_once(river: River) -> None:
    life = a_life(river)
    river.restart()

    def watch(_: int) -> int:
        try:
            return int(tasks.watch_store())
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as workers:
        counts = list(workers.map(watch, range(4)))
    assert sum(counts) >= 1
    is_as_it_was(river, life)


def test_an_order_that_ends_while_the_store_is_rebuilt_gives_its_units_back(river: River) -> None:
    life = a_life(river)
    river.restart()
    river.let_time_pass(life["ordered"])
    assert lifecycle.expire_overdue() == 1
    assert tasks.watch_store() == 1
    assert river.counters() == (str(QUANTITY - 3), "1", "2")
    assert river.is_clean()


def test_a_refund_without_units_keeps_them_sold(river: River) -> None:
    reservation_id = river.paid(units=2)
    order = river.order(reservation_id)
    assert lifecycle.refund(order_id=order.pk, units_back=False)
    river.client.flushall()
    assert tasks.watch_store() == 1
    assert river.states()[str(reservation_id)] == "sold"
    assert Order.objects.get(pk=order.pk).status == OrderStatus.REFUNDED
    assert river.is_clean()


def test_books_that_do_not_add_up_even_when_written_anew_are_not_vouched_for(river: River) -> None:
    """More is sold than the store is allowed to know: somebody lowered the quantity behind the shop's back."""
    for _ in range(3):
        river.paid(units=2)
    SaleItem.objects.filter(pk=river.item_id).update(quantity=6)
    expected = reconcile.expected_terms(item_id=river.item_id)
    river.client.flushall()
    with (
        mock.patch.object(
            reconcile, "expected_terms", return_value=expected.__class__(**{**slots(expected), "quantity": 4})
        ),
        pytest.raises(reconcile.BooksDiffer),
    ):
        reconcile.reconcile(item_id=river.item_id)
    assert river.ask() == Outcome.UNAVAILABLE


def slots(terms: ledger.Terms) -> dict[str, Any]:
    return {name: getattr(terms, name) for name in ledger.Terms.__slots__}


def make_change(river: River, kind: SaleChange.Kind, units: int | None = None) -> None:
    of_item = kind in (SaleChange.Kind.ADD_UNITS, SaleChange.Kind.WITHDRAW_UNITS, SaleChange.Kind.UNITS_PER_BUYER)
    item = SaleItem.objects.get(pk=river.item_id)
    journal.make_change(
        kind=kind,
        reason="as a test wants it",
        made_by=None,
        item_id=item.pk if of_item else None,
        sale_id=None if of_item else item.sale_id,
        units=units,
    )
