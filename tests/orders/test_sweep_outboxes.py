"""The sweep of outboxes: one budget for all items, a fair part for each, and past sales are not asked."""

import time
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.conf import LazySettings, settings
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from orders import tasks
from orders.life import intake
from orders.models import Order
from seckill.models import Sale, SaleItem
from seckill.outbox import outbox
from seckill.store.keys import keys_of
from tests.steps.buying import reserve, reserve_often
from tests.steps.operating import figure_at
from tests.steps.shop import other_item
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def items(item: SaleItem) -> list[SaleItem]:
    """Four items, each with a reservation in its outbox."""
    items = [item, *map(other_item, ("oolong", "sencha", "assam"))]
    for each in items:
        reserve_often(each)
    return items


def test_four_items_with_a_backlog_share_one_budget(items: list[SaleItem], monkeypatch: pytest.MonkeyPatch) -> None:
    # Given four outboxes that never become empty, and batches that take a while
    drained: list[int] = []

    def drain_slowly(*, item_id: int) -> int:
        drained.append(item_id)
        time.sleep(0.01)
        return 1

    monkeypatch.setattr(intake, "drain_once", drain_slowly)
    assert 2 * tasks.BUDGET_SECONDS < settings.CELERY_TASK_TIME_LIMIT
    monkeypatch.setattr(tasks, "BUDGET_SECONDS", 0.8)
    # When they are swept
    started = time.monotonic()
    tasks.sweep_outboxes()
    # Then it ends with the budget of the task, far below its time limit, and each item had its part
    assert time.monotonic() - started < 3 * tasks.BUDGET_SECONDS
    for item in items:
        assert drained.count(item.pk) >= 2


def test_an_item_that_leaves_time_gives_it_to_the_next(items: list[SaleItem]) -> None:
    seconds: list[float] = []

    def note(*, item_id: int, seconds_max: float) -> int:
        seconds.append(seconds_max)
        return 1

    with mock.patch.object(tasks, "drain", note):
        tasks.drain_items(item_ids=[item.pk for item in items], seconds_max=8.0)
    assert [round(each, 1) for each in seconds] == [2.0, 2.7, 4.0, 8.0]


def test_an_item_that_fails_keeps_no_other_waiting(items: list[SaleItem], caplog: pytest.LogCaptureFixture) -> None:
    real = intake.drain_once

    def fail_first(*, item_id: int) -> int:
        if item_id == items[0].pk:
            raise ValueError("broken")
        return real(item_id=item_id)

    with mock.patch.object(intake, "drain_once", fail_first):
        assert tasks.sweep_outboxes() == 3
    assert caplog.text.count("outbox_not_drained") == 1
    assert Order.objects.count() == 3


def test_an_outbox_that_is_no_stream_keeps_no_other_waiting(
    items: list[SaleItem], store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    store.delete(keys_of(items[0].pk).outbox)
    store.set(keys_of(items[0].pk).outbox, "no stream")
    assert tasks.sweep_outboxes() == 3
    assert caplog.text.count("outbox_not_drained") == 1


def test_a_database_that_is_away_is_not_the_fault_of_an_item(
    items: list[SaleItem], caplog: pytest.LogCaptureFixture
) -> None:
    with (
        mock.patch.object(intake, "drain_once", side_effect=OperationalError("away")) as calls,
        mock.patch.object(connection, "is_usable", return_value=False),
    ):
        assert tasks.sweep_outboxes() == 0
    assert caplog.text.count("work_waits") == 1
    assert calls.call_count == 1


def asked_items(task: Any) -> list[int]:
    """The items whose outboxes the task asks for."""
    asked: list[int] = []
    real = outbox.backlogs

    def note(*, item_ids: list[int]) -> dict[int, int]:
        asked.extend(item_ids)
        return real(item_ids=item_ids)

    with mock.patch.object(outbox, "backlogs", note):
        task()
    return asked


def let_be_over(item: SaleItem, *, days: float) -> None:
    long_ago = timezone.now() - timedelta(days=days)
    Sale.objects.filter(pk=item.sale_id).update(opens_at=long_ago - timedelta(hours=1), closes_at=long_ago)
    SaleItem.objects.filter(pk=item.pk).update(announced_at=long_ago - timedelta(hours=1))


def test_past_sales_are_not_asked_every_second(items: list[SaleItem]) -> None:
    recent, past, archived, running = items
    let_be_over(recent, days=7.9)
    let_be_over(past, days=8.1)
    SaleItem.objects.filter(pk=archived.pk).update(archived_at=timezone.now())
    assert asked_items(tasks.sweep_outboxes) == [recent.pk, running.pk]
    assert asked_items(tasks.archive_sales) == [past.pk]
    # Nothing is lost by it: what the workers left for days becomes orders too.
    assert set(Order.objects.values_list("lines__sale_item", flat=True)) == {recent.pk, running.pk, past.pk}


def backlog(client: Client, item: SaleItem) -> float | None:
    return figure_at(client, f'stampede_outbox_backlog{{item="{item.pk}"}}')


def lag_seconds(client: Client, item: SaleItem) -> float | None:
    return figure_at(client, f'stampede_outbox_lag_seconds{{item="{item.pk}"}}')


def test_a_reservation_counts_until_it_is_an_order_while_the_store_answers(
    client: Client, item: SaleItem, buyer: User, settings: LazySettings
) -> None:
    assert backlog(client, item) == 0
    assert lag_seconds(client, item) == 0
    reserve(item, buyer)
    assert backlog(client, item) == 1
    tasks.sweep_outboxes()
    assert backlog(client, item) == 0
    # Without it, the other metrics are shown.
    store_away(settings)
    assert backlog(client, item) is None
    assert figure_at(client, "stampede_orders_overdue") == 0


def test_the_lag_is_the_age_of_the_oldest_entry(client: Client, item: SaleItem, store: Any) -> None:
    seconds, _ = store.time()
    store.xadd(keys_of(item.pk).outbox, {"waits": "for long"}, id=f"{(seconds - 90) * 1000}-0")
    store.xadd(keys_of(item.pk).outbox, {"waits": "not so long"}, id=f"{(seconds - 30) * 1000}-0")
    lag = lag_seconds(client, item)
    assert lag is not None
    assert 90 <= lag < 120
    assert backlog(client, item) == 2
