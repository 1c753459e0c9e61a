"""A sweep whose server is away waits without a traceback: one line when it begins to wait, one when it goes on."""

from collections.abc import Callable
from typing import Any

import pytest
from celery.beat import ScheduleEntry
from celery.schedules import schedule
from django.core.cache import cache
from django.db import OperationalError
from kombu.exceptions import OperationalError as BrokerAway
from pytest_django import Settings

from seckill.outbox import lease
from shop.background import outages, sweep_scheduler
from shop.background.queued_tasks import sweep
from shop.background.sweep_scheduler import SweepScheduler
from shop.celery import app
from tests.steps.store import store_away

ERRORS: list[Exception | None] = []


@sweep(queue="celery", every_seconds=None)
def sweep_of_a_test() -> int:
    if error := ERRORS.pop(0):
        raise error
    return 1


@pytest.fixture(autouse=True)
def _nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "_waiting", {})


def sweep_with(*errors: Exception | None) -> list[int]:
    ERRORS[:] = errors
    return [sweep_of_a_test() for _ in errors]


def test_each_change_of_state_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    away = [OperationalError(f"connection refused\n\tat {number}") for number in range(20)]
    assert sweep_with(*away, None, None) == [0] * 20 + [1, 1]
    assert caplog.text.count("work_waits") == 1
    assert caplog.text.count("work_goes_on") == 1
    assert "Traceback" not in caplog.text


def test_another_server_is_another_line(caplog: pytest.LogCaptureFixture) -> None:
    sweep_with(OperationalError("refused"), outages.ServerAway("store"), outages.ServerAway("store"))
    assert caplog.text.count("work_waits") == 2


def test_a_fault_of_the_shop_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        sweep_with(ZeroDivisionError())


def test_without_the_cache_each_process_says_once_that_it_drains_without_lease(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    healthy = store_away(settings, "default")
    for item_id in range(3):
        assert lease.take(item_id)
    settings.CACHES = healthy
    assert lease.take(1)
    assert caplog.text.count("work_waits") == 1
    assert caplog.text.count("work_goes_on") == 1
    cache.clear()


def test_beat_without_its_broker_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: Any) -> int:
        raise BrokerAway("connection refused")

    monkeypatch.setattr(sweep_scheduler, "messages_waiting", away)
    apply_entry: Callable[[ScheduleEntry], None] = SweepScheduler(app=app, lazy=True).apply_entry
    for _ in range(3):
        apply_entry(ScheduleEntry(name="a", task="orders.tasks.send_mails", schedule=schedule(1.0, app=app), app=app))
    assert caplog.text.count("work_waits") == 1
    assert "Traceback" not in caplog.text
