"""The audit finds and names differences, and does not report changes in progress."""

import json
import re
import threading
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from unittest import mock
from uuid import UUID

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.models import F
from django.test import Client
from django.utils import timezone

from orders import tasks
from orders.life import intake, lifecycle
from orders.models import Order, OrderStatus
from orders.repair import audit as repair_audit
from orders.repair.audit import RESULT_KEY, audit, compare
from seckill.items import item_state
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from shop.databases.database_clock import database_now
from tests.other_database import shop_on
from tests.steps.buying import make_orders
from tests.steps.item_journey import ItemJourney
from tests.steps.operating import run_command
from tests.steps.shop import other_item
from tests.steps.store import store_away

NOWHERE = "postgres://u:p@127.0.0.1:1/none"
# Many times as many entries as are read at once.
MANY_ENTRIES = """
for number = 1, 10001 do
  redis.call('XADD', KEYS[1], '*', 'reservation', 'another')
end
return {}
"""

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_unit_is_accounted_for(journey: ItemJourney) -> None:
    journey.paid(units=2)
    journey.expired()
    journey.ordered()
    journey.reserved(units=2)
    comparison = audit(item_id=journey.item_id).comparison
    assert (comparison.left, comparison.held, comparison.sold) == (15, 1, 2)
    assert (comparison.on_the_way, comparison.settling) == (2, 0)
    assert comparison.issued == comparison.quantity == 20
    assert comparison.problem_count == 0


def test_an_unlimited_item_is_audited_too(journey: ItemJourney) -> None:
    unlimited = ItemJourney(journey.own_store, other_item(quantity=None, per_buyer_max=2))
    unlimited.paid(units=2)
    unlimited.ordered()
    assert unlimited.is_clean()
    unlimited.client.hincrby(unlimited.keys.item, "sold", 1)
    assert audit(item_id=unlimited.item_id).comparison.problem_count


def test_an_order_that_just_ended_is_not_a_difference_yet(journey: ItemJourney) -> None:
    order = journey.order(journey.ordered(units=2))
    assert lifecycle.end_unpaid(order_ids=[order.pk], status=OrderStatus.CANCELLED)
    comparison = audit(item_id=journey.item_id).comparison
    assert (comparison.settling, comparison.held, comparison.issued, comparison.problem_count) == (2, 0, 20, 0)
    # Nor for a worker whose clock is an hour ahead.
    with mock.patch.object(timezone, "now", return_value=database_now() + timedelta(hours=1)):
        assert audit(item_id=journey.item_id).comparison.problem_count == 0
    # After a minute it should have been settled (promise P5).
    Order.objects.filter(pk=order.pk).update(ended_at="2026-01-01T00:00:00Z")
    assert audit(item_id=journey.item_id).comparison.problem_count


def lose_hold(journey: ItemJourney) -> UUID:
    lost = journey.ordered(units=2)
    journey.client.hdel(journey.keys.holds, str(lost))
    return lost


def lose_order(journey: ItemJourney) -> UUID:
    lost = journey.ordered(units=2)
    order = journey.order(lost)
    order.lines.all().delete()
    order.delete()
    return lost


def lose_settling(journey: ItemJourney, status: str) -> UUID:
    lost = journey.ordered(units=2)
    order = journey.order(lost)
    Order.objects.filter(pk=order.pk).update(status=status, ended_at=order.created_at, settled_at=order.created_at)
    return lost


def lose_release(journey: ItemJourney) -> UUID:
    return lose_settling(journey, "expired")


def lose_confirmation(journey: ItemJourney) -> UUID:
    return lose_settling(journey, "paid")


def lose_entry(journey: ItemJourney) -> UUID:
    """A reservation whose entry was deleted by hand before intake read it."""
    lost = journey.reserved()
    journey.client.xtrim(journey.keys.outbox, maxlen=0)
    return lost


def test_each_loss_between_the_stores_is_named(journey: ItemJourney) -> None:
    journey.paid()
    lost: set[UUID | None] = set()
    for lose in (lose_hold, lose_order, lose_release, lose_confirmation, lose_entry):
        lost.add(lose(journey))
        named = {each.reservation_id for each in audit(item_id=journey.item_id).comparison.differences}
        assert named == lost, lose.__name__


def test_each_wrong_counter_and_count_of_a_buyer_is_found(journey: ItemJourney) -> None:
    journey.paid()
    journey.ordered()
    counters = [(journey.keys.item, field) for field in ("left", "held", "sold", "quantity")]
    for key, field in [*counters, (journey.keys.buyers, next(iter(journey.buyers())))]:
        journey.client.hincrby(key, field, 1)
        assert audit(item_id=journey.item_id).comparison.mismatched_totals, field
        journey.client.hincrby(key, field, -1)
    assert journey.is_clean()


def test_a_reservation_behind_a_long_backlog_is_on_the_way(journey: ItemJourney, settings: LazySettings) -> None:
    """More entries wait than an audit could read, and it reads one."""
    settings.SECKILL_BACKLOG_MAX = 1_000_000
    journey.client.eval(MANY_ENTRIES, 1, journey.keys.outbox)
    reserved = [journey.reserved() for _ in range(3)]
    lost = journey.reserved()
    journey.client.hset(journey.keys.holds, str(lost), "held:1:1:1000")
    before = journey.own_store.calls().get("xrange", 0)
    comparison = compare(item_id=journey.item_id, report_progress=lambda done, total: None)
    assert journey.own_store.calls()["xrange"] - before == 1
    assert comparison.on_the_way == len(reserved)
    assert [each.reservation_id for each in comparison.differences] == [lost]


def test_differences_are_named_up_to_a_limit(journey: ItemJourney, monkeypatch: pytest.MonkeyPatch) -> None:
    journey.paid()
    for _ in range(4):
        lose_hold(journey)
    monkeypatch.setattr(repair_audit, "DIFFERENCES_MAX", 2)
    comparison = audit(item_id=journey.item_id).comparison
    assert len(comparison.differences) == 2
    assert "more than 2 reservations differ" in comparison.mismatched_totals


def test_one_audit_runs_at_a_time(journey: ItemJourney) -> None:
    lose_hold(journey)
    cache.delete(RESULT_KEY)
    other = connections["default"].copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [repair_audit.LOCK_NUMBER])
        assert tasks.audit_sales() == 0
        assert cache.get(RESULT_KEY) is None
        # A connection that is closed keeps its locks for a moment.
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [repair_audit.LOCK_NUMBER])
    finally:
        other.close()
    assert tasks.audit_sales() > 0


def test_units_taken_in_postgresql_without_an_order_are_found(journey: ItemJourney) -> None:
    journey.ordered()
    SaleItem.objects.filter(pk=journey.item_id).update(taken=F("taken") + 1)
    assert any("PostgreSQL counts 2" in line for line in audit(item_id=journey.item_id).comparison.mismatched_totals)


def test_a_running_sale_has_no_differences(journey: ItemJourney) -> None:
    """The audit runs while buyers reserve, pay, cancel and let orders expire, and workers drain the outbox."""
    busy = ItemJourney(journey.own_store, other_item(quantity=10_000, per_buyer_max=1000))
    buyers = [busy.new_buyer().pk for _ in range(4)]
    stop = threading.Event()
    failures: list[BaseException] = []

    def forever(step: Callable[[], Any]) -> threading.Thread:
        def run() -> None:
            try:
                # Hundreds of changes a second are enough, and leave the audit some processor.
                while not stop.wait(0.002):
                    step()
            except BaseException as error:
                failures.append(error)
            finally:
                connection.close()

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def live() -> None:
        for order in Order.objects.filter(lines__sale_item=busy.item_id, status="awaiting_payment")[:9]:
            (lifecycle.pay if order.pk % 3 else lifecycle.cancel)(order_id=order.pk)

    steps: list[Callable[[], Any]] = [
        lambda: busy.try_to_reserve(buyer_id=buyers[0]),
        lambda: busy.try_to_reserve(buyer_id=buyers[1]),
        lambda: intake.drain_once(item_id=busy.item_id),
        live,
    ]
    threads = [forever(step) for step in steps]
    try:
        with mock.patch.object(repair_audit, "PAUSE_SECONDS", 0.5):
            found = [audit(item_id=busy.item_id, patience_seconds=2) for _ in range(2)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert [one.comparison.problem_count for one in found] == [0, 0]
    assert found[-1].comparison.sold > 0
    assert busy.is_clean()


def test_sale_audit_prints_the_figures_names_what_differs_and_ends_in_a_verdict(journey: ItemJourney) -> None:
    journey.paid(units=2)
    journey.ordered()
    printed = run_command("sale_audit")
    assert re.search(r"17 +1 +2 +0 +0 +20 +20 +0", printed)
    assert printed.splitlines()[-1] == "Both stores agree: 1 item checked, no differences."
    victim = lose_hold(journey)
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("sale_audit", stdout=out)
    assert ended.value.code == 1
    assert re.fullmatch(r"The stores DIFFER: \d+ problems? in 1 of 1 item\.", out.getvalue().splitlines()[-1])
    with pytest.raises(SystemExit) as ended:
        call_command("sale_audit", journey.item_id, "--json", stdout=(out := StringIO()), stderr=(err := StringIO()))
    assert ended.value.code == 1
    (report,) = json.loads(out.getvalue())
    assert [each["reservation_id"] for each in report["differences"]] == [str(victim)]
    assert "The stores DIFFER" in err.getvalue()
    SaleItem.objects.update(announced_at=None)
    assert run_command("sale_audit") == "No published sale has figures that can change: nothing to audit.\n"


def test_with_a_server_down_the_commands_end_in_a_sentence(
    journey: ItemJourney, settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    journey.ordered()
    codes = {"sale_audit": 2, "sale_rebuild": 1}
    for command, code in codes.items():
        with shop_on(NOWHERE), pytest.raises(CommandError, match="PostgreSQL does not answer") as ended:
            call_command(command, skip_checks=False)
        assert ended.value.returncode == code
    store_away(settings)
    for command, code in codes.items():
        with pytest.raises(CommandError, match="The reservation store does not answer") as ended:
            call_command(command, skip_checks=False)
        assert ended.value.returncode == code
    assert "Traceback" not in caplog.text


def test_sale_audit_says_what_it_cannot_audit(journey: ItemJourney) -> None:
    draft = other_item(published=False)
    with pytest.raises(CommandError, match="No such sale item: 999999"):
        run_command("sale_audit", "999999")
    with pytest.raises(CommandError, match="Not published"):
        run_command("sale_audit", str(draft.pk))


def test_sale_rebuild_restores_and_says_what_it_did(journey: ItemJourney) -> None:
    journey.paid(units=2)
    journey.reserved()
    journey.client.delete(journey.keys.item)
    assert re.search(r"rebuilt in .* s; 1 collected .* 2 orders compared, 2 restored", run_command("sale_rebuild"))
    assert journey.is_clean()
    assert re.search(r"compared in .* s; 0 collected .* 0 restored", run_command("sale_rebuild"))
    assert re.search(r"rebuilt .* 2 restored", run_command("sale_rebuild", str(journey.item_id), "--from-nothing"))
    assert journey.is_clean()
    assert journey.try_to_reserve() == Outcome.RESERVED


def test_sale_rebuild_says_everything_once(journey: ItemJourney, caplog: pytest.LogCaptureFixture) -> None:
    journey.paid()
    journey.client.delete(journey.keys.item)
    with caplog.at_level("INFO"):
        assert run_command("sale_rebuild").count("restored") == 1
    assert not [record for record in caplog.records if "item_reconciled" in str(record.msg)]


def test_a_restart_of_the_store_that_lost_nothing_is_no_warning(
    journey: ItemJourney, caplog: pytest.LogCaptureFixture
) -> None:
    def levels() -> list[str]:
        caplog.clear()
        with caplog.at_level("INFO"):
            tasks.watch_store()
        return [record.levelname for record in caplog.records if "item_reconciled" in str(record.msg)]

    journey.ordered()
    item_state.mark_unverified(item_id=journey.item_id)
    assert levels() == ["INFO"]
    lose_hold(journey)
    item_state.mark_unverified(item_id=journey.item_id)
    assert levels() == ["WARNING"]


def test_the_metric_is_0_until_something_differs(journey: ItemJourney, client: Client) -> None:
    cache.delete(RESULT_KEY)
    assert "stampede_audit_differences{" not in client.get("/metrics").text
    journey.ordered()
    assert tasks.audit_sales() == 0
    assert f'stampede_audit_differences{{item="{journey.item_id}"}} 0.0' in client.get("/metrics").text
    lose_hold(journey)
    assert tasks.audit_sales() > 0
    text = client.get("/metrics").text
    assert re.search(rf'stampede_audit_differences{{item="{journey.item_id}"}} [1-9]', text)
    assert re.search(r"stampede_audit_age_seconds \d", text)
    assert "stampede_orders_needing_attention 0.0" in text


def test_an_order_is_not_read_again_for_each_batch(journey: ItemJourney, monkeypatch: pytest.MonkeyPatch) -> None:
    count, batch_max = 60, 5
    make_orders(count, buyer=journey.new_buyer(), item=SaleItem.objects.get(pk=journey.item_id))
    with connection.cursor() as cursor:
        # As PostgreSQL decides by itself for a large item.
        cursor.execute("SET enable_nestloop = off")
        cursor.execute("SET enable_hashjoin = off")
        # Of so few orders it may well read all instead of five by their keys.
        cursor.execute("SET enable_seqscan = off")
        cursor.execute("ANALYZE orders_order, orders_orderline")
    monkeypatch.setattr(repair_audit, "BATCH_MAX", batch_max)
    before = rows_read("orders_order")
    try:
        compare(item_id=journey.item_id, report_progress=lambda done, total: None)
        read = rows_read("orders_order") - before
    finally:
        connection.close()
    assert count <= read < 5 * count


def rows_read(table: str) -> int:
    """How many rows of the table all statements so far have read, by whatever way."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = %s", [table])
        return int(cursor.fetchone()[0])
