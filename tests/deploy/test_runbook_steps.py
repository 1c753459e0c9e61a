"""The steps of docs/runbook.md end what they are for: an alert's figure goes wrong, the step is taken, it is well.

`systemctl restart stampede-worker@NAME` is here what that worker does first when it runs again: its sweeps.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from orders.life import lifecycle
from orders.mails import sending
from orders.models import Mail
from orders.payments.simulated.models import SimulatedMessage, SimulatedSession
from orders.repair import nightly_stock_audit
from orders.repair.audit import RESULT_KEY
from orders.repair.nightly_stock_audit import audit_stock_if_due
from orders.tasks import judge_stores
from seckill.items import item_state
from seckill.models import SaleChange, SaleItem
from seckill.store.client import StoreUnreachable
from seckill.store.keys import keys_of
from shop.background import queued_tasks, sweep_notes
from shop.background.queued_tasks import known_sweeps
from shop.celery import app
from shop.models import Product, Variant
from tests.deploy.programs import DEPLOY, ROOT
from tests.own_store import as_reservation_store, running
from tests.processes import wait_until
from tests.steps.buying import let_deadlines_pass, order_of, reserve, told, with_address
from tests.steps.operating import figure_at, run_command
from tests.steps.paying import message, payment_of, send_webhook
from tests.steps.shop import make_item
from tests.steps.staff import change
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
ENTRIES = {entry.partition("\n")[0]: entry for entry in re.split(r"^### ", RUNBOOK, flags=re.M)[1:]}
# Alerts whose steps other tests try.
TRIED_BY = {
    "StampedeReplicaLost": "tests/seckill/changes/test_replica_choice.py::"
    "test_without_its_replica_nothing_is_sold_until_somebody_chooses",
    "StampedeDeadLetters": "tests/orders/staff/test_dead_letters.py::"
    "test_the_solution_is_written_into_the_history_and_the_letter_leaves",
    "StampedeOrdersNeedAPerson": "tests/orders/staff/test_order_admin.py::"
    "test_orders_that_need_attention_have_a_list_with_the_reason_until_they_are_resolved",
    "StampedeServerDown": "tests/web/test_frozen_servers.py::test_operators_see_which_server_is_frozen",
}
# These end outside of the shop, or with time.
NOT_TRIED = {
    "StampedeYesBroken": "ends an hour after the last rejected order; people write to its buyer",
    "StampedeLaneFull": "ends with what made it slow, or with more hosts",
    "StampedeSlow": "ends with what made it slow, or with more hosts",
    "StampedeSilent": "there is no figure, since nobody answers",
    "StampedePaymentEventsWait": "the money is looked for at the payment company",
    "StampedeQueueLong": "ends with one more worker",
}


def test_the_step_of_each_alert_is_tried_or_it_is_said_why_not() -> None:
    here = set(re.findall(r'step_of\("(\w+)"|STEP: (\w+)', Path(__file__).read_text()))
    tried = {name for found in here for name in found if name}
    assert tried | set(TRIED_BY) | set(NOT_TRIED) == set(ENTRIES)
    for place in TRIED_BY.values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text()


def step_of(alert: str) -> Callable[[], None]:
    """The last workers that the entry tells one to restart, with their sweeps."""
    units = re.findall(r"systemctl restart stampede-worker@(\w+)", ENTRIES[alert].partition("**Do:**")[2])
    assert units, alert

    def restart() -> None:
        # A process that has just started knows of no sweep that ended a moment ago, after which none is made.
        queued_tasks._ended_at.clear()
        for unit in dict.fromkeys(units):
            queues = re.search(r"QUEUES=(\S+)", (DEPLOY / "systemd" / f"worker-{unit}.env").read_text())
            assert queues
            for task in tasks_of(queues[1].split(",")):
                task.apply()
        sweep_notes.write()

    return restart


def tasks_of(queues: list[str]) -> list[Any]:
    names = {name for name, sweep in known_sweeps().items() if sweep.queue in queues}
    return [task for key, task in app.tasks.items() if key.rpartition(".")[2] in names]


def test_orders_that_are_late_are_written_by_the_worker(client: Client, item: SaleItem, buyer: User) -> None:
    reserve(item, buyer)
    for figure in ("lag_seconds", "backlog"):
        assert figure_at(client, f'stampede_outbox_{figure}{{item="{item.pk}"}}')
    step_of("StampedeOrdersLate")()
    # STEP: StampedeBacklogGrows
    assert figure_at(client, f'stampede_outbox_lag_seconds{{item="{item.pk}"}}') == 0
    assert figure_at(client, f'stampede_outbox_backlog{{item="{item.pk}"}}') == 0


def test_stores_that_disagree_agree_after_a_rebuild(client: Client, item: SaleItem, store: Any) -> None:
    # STEP: StampedeStoresDisagree
    name = f'stampede_audit_differences{{item="{item.pk}"}}'
    store.hincrby(keys_of(item.pk).item, "left", -1)
    step_of("StampedeNoAudit")()
    assert figure_at(client, name)
    run_command("sale_rebuild", str(item.pk))
    run_command("sale_audit")
    step_of("StampedeNoAudit")()
    assert not figure_at(client, name)


def test_the_worker_of_repairs_audits_again(client: Client, item: SaleItem) -> None:
    cache.delete(RESULT_KEY)
    assert figure_at(client, "stampede_audit_age_seconds") is None
    step_of("StampedeNoAudit")()
    age_seconds = figure_at(client, "stampede_audit_age_seconds")
    assert age_seconds is not None
    assert age_seconds < 60


def test_an_item_that_is_not_verified_is_after_a_rebuild(client: Client, item: SaleItem) -> None:
    # STEP: StampedeItemUnverified
    name = f'stampede_item_unverified_seconds{{item="{item.pk}"}}'
    item_state.mark_unverified(item_id=item.pk)
    assert figure_at(client, name)
    run_command("sale_rebuild", str(item.pk))
    assert figure_at(client, name) == 0


def test_units_that_were_held_too_long_are_back(client: Client, item: SaleItem, buyer: User) -> None:
    order_of(item, buyer)
    let_deadlines_pass()
    assert figure_at(client, "stampede_orders_overdue") == 1
    step_of("StampedeUnitsHeldTooLong")()
    assert figure_at(client, "stampede_orders_overdue") == 0
    assert figure_at(client, "stampede_orders_unsettled") == 0


def test_the_store_is_told_of_orders_that_ended(
    client: Client, item: SaleItem, buyer: User, settings: Settings
) -> None:
    order_of(item, buyer)
    let_deadlines_pass()
    former = store_away(settings)
    lifecycle.expire_overdue()
    settings.CACHES = former
    assert figure_at(client, "stampede_orders_unsettled") == 1
    step_of("StampedeStoreNotTold")()
    assert figure_at(client, "stampede_orders_unsettled") == 0


def test_a_change_that_is_pending_comes_into_force(client: Client, item: SaleItem, settings: Settings) -> None:
    former = store_away(settings)
    change(item, SaleChange.Kind.PAUSE)
    settings.CACHES = former
    assert figure_at(client, "stampede_changes_pending") == 1
    step_of("StampedeChangesPending")()
    assert figure_at(client, "stampede_changes_pending") == 0


def test_mails_go_out(client: Client, item: SaleItem, buyer: User) -> None:
    with_address(buyer)
    order = order_of(item, buyer)
    sending.enqueue(order_ids=[order.pk], kind=Mail.Kind.PLACED)
    assert figure_at(client, "stampede_mails_unsent") == 1
    step_of("StampedeMailsUnsent")()
    assert figure_at(client, "stampede_mails_unsent") == 0
    assert len(mail.outbox) == 1


def test_sweeps_that_are_late_are_done_again(client: Client) -> None:
    # STEP: StampedeSweepLate, STEP: StampedeErrandsLate
    for alert, sweeps in (
        ("StampedeSweepLate", ("sweep_outboxes", "settle_orders")),
        ("StampedeErrandsLate", ("send_mails", "judge_stores", "clear_rehearsals")),
    ):
        names = [
            f'stampede_sweep_age_seconds{{queue="{known_sweeps()[sweep].queue}",sweep="{sweep}"}}' for sweep in sweeps
        ]
        for sweep in sweeps:
            cache.set(sweep_notes.key_of(sweep), (timezone.now().timestamp() - 10_000, 0.0))
        assert all((figure_at(client, name) or 0) >= 10_000 for name in names)
        step_of(alert)()
        for name in names:
            assert (figure_at(client, name) or 0) < 60, name


def test_a_full_store_takes_reservations_again_with_more_memory(
    tmp_path: Path, product: Product, buyer: User, client: Client
) -> None:
    # STEP: StampedeStoreRefuses, STEP: StampedeStoreFails
    with running(tmp_path) as own_store, as_reservation_store(own_store):
        item = make_item(product)
        own_store.client.config_set("maxmemory", 1)
        before = failed(client, "full")
        with pytest.raises(StoreUnreachable):
            reserve(item, buyer)
        wait_until(lambda: failed(client, "full") == before + 1, seconds_max=10)
        own_store.client.config_set("maxmemory", 0)
        reserve(item, buyer)
        own_store.kill()
        before = failed(client, "unreachable")
        with pytest.raises(StoreUnreachable):
            reserve(item, buyer)
        wait_until(lambda: failed(client, "unreachable") > before, seconds_max=10)
        own_store.start()
        step_of("StampedeNoAudit")()
        run_command("sale_audit")
        assert told(item, buyer) == "limit_reached", "the yes of before is still there"


def failed(client: Client, cause: str) -> float:
    return figure_at(client, f'stampede_store_failures_total{{cause="{cause}"}}') or 0


def test_a_weak_setting_is_set_on_the_server(tmp_path: Path, client: Client) -> None:
    # STEP: StampedeWeakSettings
    name = 'stampede_weak_settings{setting="appendfsync"}'
    with running(tmp_path) as own_store, as_reservation_store(own_store):
        own_store.client.config_set("appendfsync", "everysec")
        judge_stores()
        assert figure_at(client, name) == 1
        own_store.client.config_set("appendfsync", "always")
        judge_stores()
        assert figure_at(client, name) == 0


def test_stock_that_differs_is_corrected(client: Client, item: SaleItem, as_manager: Client) -> None:
    # STEP: StampedeStockDiffers
    Variant.objects.filter(pk=item.variant_id).update(available=F("available") + 2)
    audited_tonight()
    assert figure_at(client, "stampede_stock_differences") == 1
    path = reverse("admin:shop_variant_change", args=[item.variant_id])
    seen = Variant.objects.get(pk=item.variant_id).available
    form = {"how": "change", "units": -2, "reason": "counted again", "seen": seen, "low_stock_at": ""}
    assert as_manager.post(path, form).status_code == 302
    run_command("stock_audit")
    audited_tonight()
    assert figure_at(client, "stampede_stock_differences") == 0


def audited_tonight() -> None:
    cache.delete(nightly_stock_audit.RESULT_KEY)
    audit_stock_if_due()


def test_a_refund_that_is_due_is_made(client: Client, item: SaleItem, buyer: User) -> None:
    order = order_of(item, buyer)
    payment = payment_of(order)
    SimulatedSession.objects.update(status=SimulatedSession.Status.CAPTURED)
    send_webhook(message(payment))
    assert lifecycle.refund(order_id=order.pk, units_back=True)
    assert figure_at(client, "stampede_refunds_due") == 1
    step_of("StampedeRefundsDue")()
    # The company confirms it.
    for event in SimulatedMessage.objects.filter(delivered_at=None):
        send_webhook(json.loads(event.body))
    assert figure_at(client, "stampede_refunds_due") == 0
