"""A store that lost data is unavailable until it agrees with the orders again, and nothing is sold twice."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock
from uuid import UUID

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import DataError
from django.db.models.functions import Now
from django.utils import timezone

from orders import tasks
from orders.life import intake, lifecycle, settlement
from orders.models import Order, OrderStatus, StoreRepair
from orders.repair import reconcile
from orders.repair.audit import RESULT_KEY, audit
from orders.report.sale_report import report_of
from seckill import ledger
from seckill.changes import journal
from seckill.items import item_state
from seckill.models import Sale, SaleChange, SaleItem
from seckill.outbox import outbox
from seckill.outcomes import Outcome
from seckill.publication import publish_sale
from seckill.store.client import StoreUnreachable
from shop.times.timestamps import from_ms
from tests.steps.at_once import at_once, in_the_middle
from tests.steps.drawing import drawn, entered, make_draw
from tests.steps.item_journey import ItemJourney
from tests.steps.shop import goods, other_item

pytestmark = pytest.mark.django_db(transaction=True)

QUANTITY = 20


def orders_in_every_state(journey: ItemJourney) -> dict[str, UUID]:
    """An order in each state, and one reservation that is not an order yet."""
    return {
        "paid": journey.paid(units=2),
        "expired": journey.expired(),
        "cancelled": journey.cancelled(units=2),
        "ordered": journey.ordered(units=2),
        "on its way": journey.reserved(),
    }


EXPECTED_STATES = {"paid": "sold", "expired": "ended", "cancelled": "ended", "ordered": "held", "on its way": "held"}


def assert_repaired(journey: ItemJourney, reservations: dict[str, UUID]) -> None:
    """Five of twenty units are taken, each hold agrees with its order, and an audit finds no problem.

    More reservations than those in every state are of one unit, and held.
    """
    more = len(reservations) - len(EXPECTED_STATES)
    assert journey.counters() == (str(QUANTITY - 5 - more), str(3 + more), "2")
    states = journey.states()
    assert {name: states[str(pk)] for name, pk in reservations.items()} == (
        dict.fromkeys(reservations, "held") | EXPECTED_STATES
    )
    assert SaleItem.objects.get(pk=journey.item_id).taken == 5 + more
    assert Order.objects.count() == 5 + more
    assert journey.is_clean()


def assert_reconcile_repairs(journey: ItemJourney, reservations: dict[str, UUID]) -> None:
    reconcile.reconcile(item_id=journey.item_id)
    assert_repaired(journey, reservations)


def assert_watch_repairs(journey: ItemJourney, reservations: dict[str, UUID]) -> None:
    assert tasks.watch_store() == 1
    assert_repaired(journey, reservations)


def dump(journey: ItemJourney) -> dict[bytes, bytes]:
    """A backup of the store."""
    return {key: journey.client.dump(key) for key in journey.client.scan_iter()}


def restart_with(journey: ItemJourney, backup: dict[bytes, bytes]) -> None:
    journey.client.flushall()
    for key, value in backup.items():
        journey.client.restore(key, 0, value)
    journey.restart()


def test_a_restarted_and_an_emptied_store_are_unavailable_until_they_were_compared(journey: ItemJourney) -> None:
    reservations = orders_in_every_state(journey)
    journey.restart()
    assert journey.try_to_reserve() == Outcome.UNAVAILABLE
    assert journey.try_to_reserve(reservation_id=reservations["ordered"]) == Outcome.UNAVAILABLE
    assert ledger.read(item_id=journey.item_id) is None
    assert_watch_repairs(journey, reservations)
    assert journey.try_to_reserve(reservation_id=reservations["ordered"]) == Outcome.ALREADY_RESERVED
    reservations["after the restart"] = journey.reserved()
    assert tasks.watch_store() == 0
    # All that became orders is restored from them.
    intake.drain_once(item_id=journey.item_id)
    journey.client.flushall()
    assert journey.try_to_reserve() == Outcome.UNAVAILABLE
    assert_watch_repairs(journey, reservations)
    # A pass whose hold has ended must not make a second reservation with the same id.
    assert journey.try_to_reserve(reservation_id=reservations["expired"]) == Outcome.HOLD_ENDED


def test_the_report_of_the_sale_says_when_an_item_was_compared(journey: ItemJourney) -> None:
    journey.paid()
    journey.restart()
    assert tasks.watch_store() == 1
    journey.client.flushall()
    with mock.patch.object(reconcile, "repair_batch", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        tasks.watch_store()
    (begun,) = StoreRepair.objects.filter(ended_at=None)
    assert tasks.watch_store() == 1
    compared, corrected = report_of(Sale.objects.get(items=journey.item_id)).faults
    assert (compared.kind, corrected.kind) == ("store_compared", "store_corrected")
    # It was unavailable since the first attempt.
    assert corrected.since == begun.began_at
    assert not StoreRepair.objects.filter(ended_at=None).exists()


def test_an_item_that_was_drawn_is_compared_after_a_restart_and_not_rebuilt(journey: ItemJourney) -> None:
    item = make_draw(goods("cup", price_minor=9900).product, quantity=3)
    entered(item, 5)
    assert drawn(item).drawn_at
    # The opening that a step of the test moved, as the store has it.
    opens_ms = int(item_state.terms(item_id=item.pk)["opens_ms"])
    Sale.objects.filter(pk=item.sale_id).update(opens_at=from_ms(opens_ms))
    journey.restart()
    assert not reconcile.reconcile(item_id=item.pk).differed


def sale_of_two() -> list[int]:
    """The ids of its items."""
    first, oolong = other_item(published=False), goods("oolong", price_minor=9900)
    SaleItem.objects.create(sale=first.sale, variant=oolong, quantity=4, price_minor=1900)
    publish_sale(sale_id=first.sale_id)
    return list(SaleItem.objects.filter(sale=first.sale).order_by("pk").values_list("pk", flat=True))


def change_without_store(item_ids: list[int], kind: SaleChange.Kind, **more: Any) -> None:
    """Staff change the sale of these items while the store can take no change."""
    sale = Sale.objects.get(items=item_ids[0])
    with mock.patch.object(journal, "apply_pending"):
        journal.make_change(kind=kind, sale_id=sale.pk, reason="because", made_by=None, **more)


def test_items_that_staff_ended_one_after_another_are_compared_after_a_restart_and_not_rebuilt(
    journey: ItemJourney,
) -> None:
    items = sale_of_two()

    def ends() -> list[str]:
        return [item_state.terms(item_id=item_id)["closes_ms"] for item_id in items]

    # When the store ends the second one a moment after the first one
    change_without_store(items, SaleChange.Kind.END_NOW)
    for item_id in items:
        journal.apply_pending(item_id=item_id)
        before_ms = ledger.clock_ms(item_id=item_id)
        while ledger.clock_ms(item_id=item_id) == before_ms:
            pass
    ended = ends()
    assert ended[0] < ended[1]
    # Then a restart finds both as they should be, and a rebuild keeps both ends
    journey.restart()
    assert not any(reconcile.reconcile(item_id=item_id).differed for item_id in items)
    assert all(reconcile.reconcile(item_id=item_id, rebuild=True).rebuilt for item_id in items)
    assert ends() == ended


def test_an_item_that_could_not_be_reached_when_its_sale_was_changed_is_compared_and_not_rebuilt(
    journey: ItemJourney,
) -> None:
    first, second = sale_of_two()
    changes: dict[SaleChange.Kind, dict[str, Any]] = {
        SaleChange.Kind.PAUSE: {},
        SaleChange.Kind.RESUME: {},
        SaleChange.Kind.MOVE_END: {"closes_at": timezone.now() + timedelta(hours=9)},
        SaleChange.Kind.END_NOW: {},
    }
    for kind, more in changes.items():
        # Given a change that is applied to the first item alone
        change_without_store([first], kind, **more)
        assert journal.apply_pending(item_id=first) == 1, kind
        # When both are reconciled after a restart
        journey.restart()
        found = [reconcile.reconcile(item_id=item_id) for item_id in (first, second)]
        # Then nothing differed, and the change is applied to the second one too
        assert not any(each.differed for each in found), kind
        assert not SaleChange.objects.filter(status=SaleChange.Status.PENDING).exists(), kind
        names = ("state",) if kind == SaleChange.Kind.END_NOW else ("state", "closes_ms")
        states = [[item_state.terms(item_id=item_id)[name] for name in names] for item_id in (first, second)]
        assert states[0] == states[1], kind


def test_an_item_whose_pause_waits_is_rebuilt_as_its_own_changes_left_it(
    journey: ItemJourney,
) -> None:
    first, second = sale_of_two()
    change_without_store([first], SaleChange.Kind.PAUSE)
    assert journal.apply_pending(item_id=first) == 1
    with mock.patch.object(journal, "apply_pending"):
        assert reconcile.reconcile(item_id=second, rebuild=True).rebuilt
    assert [item_state.terms(item_id=item_id)["state"] for item_id in (first, second)] == ["paused", "open"]


@pytest.mark.parametrize("rebuild", [False, True])
def test_the_note_of_a_pause_whose_process_died_is_there_when_the_item_is_verified(
    journey: ItemJourney, rebuild: bool
) -> None:
    sale_id, note = SaleItem.objects.get(pk=journey.item_id).sale_id, {"en": "Back at noon."}
    died = mock.patch.object(journal, "put_note", side_effect=KeyboardInterrupt)
    with died, pytest.raises(KeyboardInterrupt):
        journal.make_change(kind=SaleChange.Kind.PAUSE, sale_id=sale_id, reason="", made_by=None, public_note=note)
    journey.restart()
    reconcile.reconcile(item_id=journey.item_id, rebuild=rebuild)
    found = ledger.read(item_id=journey.item_id)
    assert found is not None
    assert (found.state, found.pause_note) == ("paused", note)


def test_an_item_that_closed_long_ago_is_compared_once_a_change_waits_for_it(journey: ItemJourney) -> None:
    # Given a sale that ended nine days ago, whose figures no longer change, and a restart of the store
    journey.paid()
    item = SaleItem.objects.get(pk=journey.item_id)
    long_ago = timezone.now() - timedelta(days=9)
    Sale.objects.filter(pk=item.sale_id).update(opens_at=long_ago - timedelta(hours=1), closes_at=long_ago)
    SaleItem.objects.update(announced_at=long_ago)
    journey.restart()
    tasks.watch_store()
    # When staff move its end into the future
    (change,) = journal.make_change(
        kind=SaleChange.Kind.MOVE_END,
        sale_id=item.sale_id,
        closes_at=timezone.now() + timedelta(hours=1),
        reason="once more",
        made_by=None,
    )
    assert change.status == SaleChange.Status.PENDING
    tasks.watch_store()
    tasks.sweep_outboxes()
    # Then the item is compared with its orders, and the change is applied
    change.refresh_from_db()
    assert change.status == SaleChange.Status.APPLIED
    assert journey.counters() == (str(QUANTITY - 1), "0", "1")
    assert ledger.read(item_id=item.pk) is not None


LOST = ["item", "buyers", "holds", "outbox", "item outbox", "item holds", "buyers holds", "holds outbox", "ops"]


def test_after_any_loss_of_keys_all_that_remains_is_kept(journey: ItemJourney) -> None:
    reservations = orders_in_every_state(journey)
    journey.change(SaleChange.Kind.ADD_UNITS, units=1)
    journey.change(SaleChange.Kind.WITHDRAW_UNITS, units=1)
    for lost in LOST:
        reservations[f"on its way when the store loses {lost}"] = journey.reserved()
        if lost in ("holds outbox", "ops"):
            # Only the store knew of the reservation that was not an order yet, or no worker can read it.
            intake.drain_once(item_id=journey.item_id)
        journey.client.delete(*(getattr(journey.keys, name) for name in lost.split()))
        if lost != "ops":
            assert journey.try_to_reserve() == Outcome.UNAVAILABLE, lost
            assert_watch_repairs(journey, reservations)
    assert journey.try_to_reserve() == Outcome.RESERVED


def small_item(journey: ItemJourney, quantity: int, name: str = "oolong") -> ItemJourney:
    """Another item on the same store, at most two units per buyer."""
    return ItemJourney(journey.own_store, other_item(name, quantity=quantity, per_buyer_max=2))


def test_a_restored_backup_resells_nothing(journey: ItemJourney) -> None:
    """The backup is from before most of the sale: sold units are restored as sold."""
    item = small_item(journey, quantity=8)
    early = item.ordered(units=2)
    backup = dump(item)
    assert lifecycle.pay(order_id=item.order(early).pk)
    ended = item.expired()
    later = [item.paid(units=2) for _ in range(2)]
    restart_with(item, backup)
    assert item.try_to_reserve() == Outcome.UNAVAILABLE
    assert tasks.watch_store() == 2
    assert item.counters() == ("2", "0", "6")
    assert {item.states()[str(pk)] for pk in [early, *later]} == {"sold"}
    assert item.states()[str(ended)] == "ended"
    assert item.is_clean()
    answers = [item.try_to_reserve(units=2) for _ in range(2)]
    assert answers == [Outcome.RESERVED, Outcome.HELD_BY_OTHERS]


def test_releases_that_a_backup_has_not_seen_make_room_for_orders_that_it_has_not_seen(journey: ItemJourney) -> None:
    """All units are held in the backup, and were then released and sold to others: releases must come first."""
    item = small_item(journey, quantity=4)
    early = [item.ordered(units=2) for _ in range(2)]
    backup = dump(item)
    for reservation_id in early:
        assert lifecycle.cancel(order_id=item.order(reservation_id).pk)
    later = [item.paid(units=2) for _ in range(2)]
    restart_with(item, backup)
    assert tasks.watch_store() == 2
    assert item.counters() == ("0", "0", "4")
    assert {item.states()[str(pk)] for pk in later} == {"sold"}
    assert item.is_clean()
    assert item.try_to_reserve() == Outcome.SOLD_OUT


def test_a_change_that_a_backup_has_not_seen_holds_again(journey: ItemJourney) -> None:
    backup = dump(journey)
    journey.change(SaleChange.Kind.ADD_UNITS, units=5)
    journey.change(SaleChange.Kind.UNITS_PER_BUYER, units=3)
    journey.change(SaleChange.Kind.PAUSE)
    assert journey.try_to_reserve() == Outcome.PAUSED
    restart_with(journey, backup)
    assert tasks.watch_store() == 1
    assert journey.item()["quantity"] == "25"
    assert journey.item()["per_buyer_max"] == "3"
    assert journey.try_to_reserve() == Outcome.PAUSED
    journey.change(SaleChange.Kind.RESUME)
    assert journey.try_to_reserve(units=3) == Outcome.RESERVED
    assert journey.is_clean()


def test_units_whose_addition_is_on_its_way_are_added_once(journey: ItemJourney) -> None:
    """PostgreSQL counts them from the beginning, the rebuilt item only after the store has applied the change."""
    with mock.patch.object(ledger, "adjust", side_effect=StoreUnreachable):
        journey.change(SaleChange.Kind.ADD_UNITS, units=5)
    assert SaleItem.objects.get(pk=journey.item_id).quantity == QUANTITY + 5
    journey.client.flushall()
    tasks.watch_store()
    journal.sweep_changes()
    assert journey.item()["quantity"] == str(QUANTITY + 5)
    assert journey.item()["left"] == str(QUANTITY + 5)
    assert journey.is_clean()


def test_added_units_that_were_bought_stay_though_the_process_died_in_the_change(journey: ItemJourney) -> None:
    """The store has added the units, PostgreSQL does not know it, the units are bought, and the store restarts."""
    items = {}
    for lost in ("", "ops", "item", "item ops", "item ops holds buyers outbox"):
        items[lost] = item = small_item(journey, quantity=2, name=f"lost-{lost.replace(' ', '-')}")
        with mock.patch.object(journal, "finish", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            item.change(SaleChange.Kind.ADD_UNITS, units=2)
        for units in (2, 1):
            item.paid(units=units)
        if lost:
            item.client.delete(*(getattr(item.keys, name) for name in lost.split()))
    journey.restart()
    assert tasks.watch_store() == 1 + len(items)
    assert {change.status for change in SaleChange.objects.all()} == {SaleChange.Status.APPLIED}
    journal.sweep_changes()
    for lost, item in items.items():
        assert (item.item()["quantity"], *item.counters()) == ("4", "1", "0", "3"), lost
        assert SaleItem.objects.get(pk=item.item_id).quantity == 4, lost
        assert item.is_clean(), lost
        assert item.try_to_reserve() == Outcome.RESERVED, lost
        item.change(SaleChange.Kind.ADD_UNITS, units=1)
        assert item.item()["quantity"] == "5", lost


def test_a_change_that_only_the_store_knows_of_is_finished_and_nothing_is_rebuilt(journey: ItemJourney) -> None:
    journey.ordered()
    changes = {SaleChange.Kind.WITHDRAW_UNITS: 5, SaleChange.Kind.PAUSE: None, SaleChange.Kind.END_NOW: None}
    for kind, units in changes.items():
        with mock.patch.object(journal, "finish", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            journey.change(kind, units=units)
        before = journey.item()
        journey.restart()
        assert not reconcile.reconcile(item_id=journey.item_id).rebuilt, kind
        assert SaleChange.objects.latest("pk").status == SaleChange.Status.APPLIED, kind
        after = journey.item()
        # A mark that is new each time that the item is verified.
        assert after.pop("verification") != before.pop("verification", None)
        assert after == {**before, "incarnation": item_state.incarnation(item_id=journey.item_id)}, kind
    assert journey.is_clean()


def test_a_withdrawal_that_the_orders_contradict_is_decided_again(journey: ItemJourney) -> None:
    """The store withdrew units after it had lost reservations of them."""
    item = small_item(journey, quantity=4)
    item.paid(units=2)
    item.client.flushall()
    tasks.watch_store()
    with mock.patch.object(journal, "finish", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        item.change(SaleChange.Kind.WITHDRAW_UNITS, units=2)
    Order.objects.filter(reservation_id=item.surplus(units=2)).update(status=OrderStatus.PAID, ended_at=Now())
    item.restart()
    assert tasks.watch_store() == 2
    assert SaleChange.objects.get().status == SaleChange.Status.REFUSED
    assert item.counters() == ("0", "0", "4")
    assert item.is_clean()


def test_an_item_with_unreadable_or_wrong_values_is_rebuilt(journey: ItemJourney) -> None:
    reservations = orders_in_every_state(journey)
    for field, value in (("held", "9"), ("sold", "1"), ("left", "20"), ("quantity", "21"), ("closes_ms", "1")):
        journey.client.hset(journey.keys.item, field, value)
        assert_reconcile_repairs(journey, reservations)
        assert journey.item()[field] != value
    for damage in ("nonsense", "held:7:x:1", "held:7:1"):
        journey.client.hset(journey.keys.holds, str(reservations["paid"]), damage)
        assert_reconcile_repairs(journey, reservations)
    # The hold cannot be restored beside a damaged count.
    journey.client.hdel(journey.keys.holds, str(reservations["ordered"]))
    buyer_id = journey.order(reservations["ordered"]).buyer_id
    journey.client.hset(journey.keys.buyers, str(buyer_id), "1.5")
    assert_reconcile_repairs(journey, reservations)
    # Fields that are no ids stop neither the reconcile nor the audit.
    for key in ("holds", "ops"):
        nonsense = dict.fromkeys((b"no-uuid", b"\xff\xfe"), "held:7:1:1767226500012")
        journey.client.hset(getattr(journey.keys, key), mapping=nonsense)
        assert bool(audit(item_id=journey.item_id, patience_seconds=0).comparison.problem_count) is (key == "holds")
        assert_reconcile_repairs(journey, reservations)


def test_an_item_that_cannot_be_reconciled_does_not_stop_the_next_and_is_logged_once(
    journey: ItemJourney, caplog: Any
) -> None:
    later = small_item(journey, quantity=2)
    real = reconcile.repair_holds
    for error in (reconcile.StillDiffers("for a test"), ValueError("for a test"), DataError("x")):
        for item in (journey, later):
            item_state.mark_unverified(item_id=item.item_id)
        caplog.clear()

        def repair(*, item_id: int, error: Exception = error, **more: Any) -> bool:
            if item_id == journey.item_id:
                raise error
            return real(item_id=item_id, **more)

        with mock.patch.object(reconcile, "repair_holds", repair):
            assert tasks.watch_store() == 1
            assert ledger.read(item_id=later.item_id) is not None
            assert tasks.watch_store() == 0
        assert caplog.text.count("'event': 'item_not_reconciled'") == 1
        assert tasks.watch_store() == 1
        assert journey.try_to_reserve() == Outcome.RESERVED


def test_a_key_of_the_wrong_type_stops_no_other_item(journey: ItemJourney) -> None:
    """Reconciled, audited, and settled: what the first item breaks, the second one does not notice."""
    later = small_item(journey, quantity=2)
    order = later.order(later.ordered())
    journey.ordered()
    assert lifecycle.end_unpaid(order_ids=[order.pk], status=OrderStatus.CANCELLED)
    journey.client.delete(journey.keys.item)
    journey.client.set(journey.keys.item, "a text")
    later.client.hdel(later.keys.item, "incarnation")
    assert tasks.watch_store() == 1
    assert settlement.settle_orders() == 1
    assert tasks.audit_sales() == 1
    metrics = cache.get(RESULT_KEY)["problems_of_item"]
    assert metrics == {str(journey.item_id): 1, str(later.item_id): 0}


def test_a_store_that_is_away_is_asked_once_and_not_for_each_item(journey: ItemJourney) -> None:
    small_item(journey, quantity=2)
    journey.own_store.kill()
    try:
        with mock.patch.object(item_state, "conditions", wraps=item_state.conditions) as asked:
            assert tasks.watch_store() == 0
        assert asked.call_count == 1
    finally:
        journey.own_store.start()


def test_killed_at_any_step_it_is_unavailable_and_the_next_attempt_goes_on(journey: ItemJourney) -> None:
    reservations = orders_in_every_state(journey)
    intake.drain_once(item_id=journey.item_id)
    for step in ("collect_lost_orders", "is_repairable", "republish", "repair_holds", "repair_batch"):
        journey.client.delete(journey.keys.item)
        with mock.patch.object(reconcile, step, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            tasks.watch_store()
        assert journey.try_to_reserve() == Outcome.UNAVAILABLE, step
        assert_watch_repairs(journey, reservations)


def test_killed_after_some_orders_were_restored_the_rest_follows(journey: ItemJourney) -> None:
    reservations = orders_in_every_state(journey)
    intake.drain_once(item_id=journey.item_id)
    journey.client.flushall()
    real, batches = reconcile.repair_batch, itertools.count()

    def die_in_the_second(**arguments: Any) -> None:
        if next(batches) == 1:
            raise KeyboardInterrupt
        real(**arguments)

    with (
        mock.patch.object(reconcile, "BATCH_MAX", 2),
        mock.patch.object(reconcile, "repair_batch", die_in_the_second),
        pytest.raises(KeyboardInterrupt),
    ):
        tasks.watch_store()
    assert len(journey.holds()) == 2
    assert_watch_repairs(journey, reservations)


def test_a_store_that_changes_meanwhile_is_not_verified(journey: ItemJourney) -> None:
    reservations = orders_in_every_state(journey)
    intake.drain_once(item_id=journey.item_id)
    replaced = mock.patch.object(item_state, "incarnation", return_value="0" * 40)
    with replaced:
        reconcile.reconcile(item_id=journey.item_id)
    assert journey.try_to_reserve() == Outcome.UNAVAILABLE
    assert_watch_repairs(journey, reservations)
    # And while reservations are collected
    reservations["collected"] = journey.reserved()
    with replaced, pytest.raises(intake.ServerReplaced):
        reconcile.reconcile(item_id=journey.item_id)
    assert journey.try_to_reserve() == Outcome.UNAVAILABLE
    assert_watch_repairs(journey, reservations)


def test_operators_hear_that_the_store_was_restarted_while_they_rebuild(journey: ItemJourney) -> None:
    journey.reserved()
    replaced = mock.patch.object(item_state, "incarnation", return_value="0" * 40)
    with replaced, pytest.raises(CommandError, match="restarted meanwhile .* Run it again"):
        call_command("sale_rebuild", str(journey.item_id))


def test_a_store_that_came_back_with_weaker_settings_is_logged(
    journey: ItemJourney, caplog: pytest.LogCaptureFixture
) -> None:
    journey.restart()
    journey.client.config_set("appendfsync", "everysec")
    try:
        assert tasks.watch_store() == 1
    finally:
        journey.client.config_set("appendfsync", "always")
    assert "store_came_back_weaker" in caplog.text
    assert journey.try_to_reserve() == Outcome.RESERVED


def test_an_order_that_a_worker_writes_after_the_comparison_from_a_lost_batch_is_compared_next(
    journey: ItemJourney,
) -> None:
    reservation_id = journey.reserved()
    entries = outbox.read_batch(item_id=journey.item_id, count_max=10)
    journey.client.flushall()
    with in_the_middle(
        reconcile, "put_note", lambda: intake.take_in_batch(item_id=journey.item_id, entries=entries)
    ) as writing:
        assert tasks.watch_store() == 1
        writing[0].result()
    # Else its units would be on sale a second time.
    assert tasks.watch_store() == 1
    assert journey.states() == {str(reservation_id): "held"}


def test_an_order_whose_hold_is_about_to_be_restored_is_no_reason_to_compare_once_more(journey: ItemJourney) -> None:
    reservation_id = journey.reserved()
    entries = outbox.read_batch(item_id=journey.item_id, count_max=10)
    journey.client.delete(journey.keys.buyers)
    with in_the_middle(
        reconcile, "repair_holds", lambda: intake.take_in_batch(item_id=journey.item_id, entries=entries)
    ) as writing:
        assert tasks.watch_store() == 1
        writing[0].result()
    assert tasks.watch_store() == 0
    assert journey.states() == {str(reservation_id): "held"}


def test_two_workers_reconcile_an_item_once(journey: ItemJourney) -> None:
    reservations = orders_in_every_state(journey)
    journey.restart()
    assert sum(at_once([tasks.watch_store] * 4)) >= 1
    assert_repaired(journey, reservations)


def test_an_order_that_ends_while_the_store_is_rebuilt_gives_its_units_back(journey: ItemJourney) -> None:
    reservations = orders_in_every_state(journey)
    journey.restart()
    journey.let_time_pass(reservations["ordered"])
    assert lifecycle.expire_overdue() == 1
    assert tasks.watch_store() == 1
    assert journey.counters() == (str(QUANTITY - 3), "1", "2")
    assert journey.is_clean()


def test_orders_that_are_paid_and_cancelled_while_it_is_compared_do_not_make_it_differ(
    journey: ItemJourney, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The totals are added up portion by portion. Between two portions, buyers pay and cancel, and workers settle."""
    waiting = [journey.ordered() for _ in range(12)]
    journey.restart()
    real = item_state.scan

    def scan_beside_buyers(key: str, *, item_id: int) -> Iterator[dict[bytes, bytes]]:
        for portion in real(key, item_id=item_id):
            yield portion
            if waiting and key == journey.keys.holds:
                assert lifecycle.pay(order_id=journey.order(waiting.pop()).pk)
                assert lifecycle.cancel(order_id=journey.order(waiting.pop()).pk)

    monkeypatch.setattr(item_state, "scan", scan_beside_buyers)
    result = reconcile.reconcile(item_id=journey.item_id)
    monkeypatch.undo()
    assert not result.rebuilt
    while settlement.settle_orders():
        pass
    assert not Order.objects.exclude(status=OrderStatus.AWAITING_PAYMENT).filter(settled_at=None).exists()
    assert journey.try_to_reserve() == Outcome.RESERVED
    intake.drain_once(item_id=journey.item_id)
    assert journey.is_clean()


def test_totals_that_agree_at_the_second_look_do_not_make_it_rebuild(
    journey: ItemJourney, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders_in_every_state(journey)
    real, looks = item_state.totals, itertools.count()

    def totals(*, item_id: int) -> item_state.Totals:
        found = real(item_id=item_id)
        found.held += next(looks) == 0
        return found

    monkeypatch.setattr(item_state, "totals", totals)
    assert not reconcile.reconcile(item_id=journey.item_id).rebuilt


def test_an_old_sale_with_a_refund_to_settle_is_reconciled_too(journey: ItemJourney) -> None:
    """It is no longer watched for its own sake, but the store must learn that the units are back."""
    order = journey.order(journey.paid())
    long_ago = timezone.now() - timedelta(days=30)
    Sale.objects.update(opens_at=long_ago - timedelta(hours=1), closes_at=long_ago)
    SaleItem.objects.update(announced_at=long_ago)
    journey.restart()
    assert tasks.watch_store() == 0
    assert lifecycle.refund(order_id=order.pk, units_back=True)
    assert not Order.objects.get(pk=order.pk).settled_at
    assert tasks.watch_store() == 1
    assert settlement.settle_orders() == 1
    assert journey.counters() == (str(QUANTITY), "0", "0")


def test_a_refund_without_units_keeps_them_sold(journey: ItemJourney) -> None:
    reservation_id = journey.paid(units=2)
    order = journey.order(reservation_id)
    assert lifecycle.refund(order_id=order.pk, units_back=False)
    journey.client.flushall()
    assert tasks.watch_store() == 1
    assert journey.states()[str(reservation_id)] == "sold"
    assert Order.objects.get(pk=order.pk).status == OrderStatus.REFUND_DUE
    assert journey.is_clean()


def test_an_item_that_does_not_add_up_even_when_rebuilt_is_not_verified(journey: ItemJourney) -> None:
    """More units are sold than the quantity: somebody lowered it directly in the database."""
    for _ in range(3):
        journey.paid(units=2)
    SaleItem.objects.filter(pk=journey.item_id).update(quantity=6)
    expected = reconcile.expected_terms(item_id=journey.item_id)
    journey.client.flushall()
    lowered = replace(expected, quantity=4)
    with (
        mock.patch.object(reconcile, "expected_terms", return_value=lowered),
        pytest.raises(reconcile.StillDiffers),
    ):
        reconcile.reconcile(item_id=journey.item_id)
    assert journey.try_to_reserve() == Outcome.UNAVAILABLE
