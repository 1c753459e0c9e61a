"""Beat goes on ringing every second, whatever becomes of the clock on the wall."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from celery import Celery

from seckill.outbox import doorbell
from shop.background import sweep_scheduler
from shop.background.sweep_scheduler import SweepScheduler
from shop.celery import app as shop_app
from tests.own_store import OwnStore

EVERY_SECONDS = 0.05
# Many times as long as it takes, far below the hour that a clock is off.
SECONDS_MAX = 10.0


class Rings(SweepScheduler):
    """Notes what it would send."""

    def apply_async(self, entry: Any, producer: Any = None, advance: bool = True, **more: Any) -> None:
        rung.append(entry.name)


rung: list[str] = []


@pytest.fixture
def scheduler() -> Rings:
    rung.clear()
    app = Celery("test", set_as_current=False, broker="memory://")
    app.conf.beat_schedule = {name: {"task": name, "schedule": EVERY_SECONDS} for name in ("first", "second")}
    return Rings(app=app)


def wait_for_rings(scheduler: Rings, *, count: int) -> None:
    """Let the scheduler tick until each task was rung that often."""
    rung.clear()
    give_up_s = time.monotonic() + SECONDS_MAX
    while min(rung.count("first"), rung.count("second")) < count:
        assert time.monotonic() < give_up_s, rung
        time.sleep(max(0.0, min(scheduler.tick(), EVERY_SECONDS)))


@pytest.mark.parametrize("hours", [1, -1])
def test_it_rings_on_when_the_clock_jumps(scheduler: Rings, hours: int) -> None:
    wait_for_rings(scheduler, count=2)
    real_now = Celery.now

    def now(self: Celery) -> datetime:
        return real_now(self) + timedelta(hours=hours)

    began_s = time.monotonic()
    with mock.patch.object(Celery, "now", now):
        wait_for_rings(scheduler, count=3)
    wait_for_rings(scheduler, count=3)
    # Not more often either.
    assert len(rung) <= (time.monotonic() - began_s) / EVERY_SECONDS * 2 + 4


def test_a_daily_task_is_first_sent_minutes_after_a_start_and_then_daily() -> None:
    app = Celery("test", set_as_current=False, broker="memory://")
    first = sweep_scheduler.SweepEntry(name="daily", task="daily", schedule=timedelta(days=1), app=app)
    assert 500 < first.is_due()[1] <= sweep_scheduler.FIRST_SECONDS_MAX
    assert 86_000 < next(first).is_due()[1] <= 86_400


@pytest.fixture
def sender(own_store: OwnStore) -> Iterator[SweepScheduler]:
    """Beat with two tasks, each with a queue of its own."""
    own_store.client.flushall()
    app = Celery("test", set_as_current=False, broker=own_store.url)
    app.conf.task_routes = {"slow": {"queue": "slow"}, "quick": {"queue": "quick"}}
    app.conf.beat_schedule = {name: {"task": name, "schedule": 0.001} for name in ("slow", "quick")}
    yield SweepScheduler(app=app)
    app.close()


def test_a_queue_that_no_worker_empties_stays_short(
    own_store: OwnStore, sender: SweepScheduler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sweep_scheduler, "WAITING_MAX", 10)
    for _ in range(100):
        own_store.client.delete("quick")
        sender.tick()
        time.sleep(0.002)
    assert own_store.client.llen("slow") == 10
    assert own_store.client.llen("quick") <= 1
    assert caplog.text.count("queue_too_long") == 1
    # When a worker is back, they are sent again.
    own_store.client.delete("slow")
    for _ in range(5):
        sender.tick()
        time.sleep(0.002)
    assert 1 <= own_store.client.llen("slow") <= 6


def test_the_shop_uses_it() -> None:
    assert shop_app.conf.beat_scheduler == "shop.background.sweep_scheduler:SweepScheduler"
    shop_app.loader.import_default_modules()
    assert all(entry["schedule"] >= 1 for entry in shop_app.conf.beat_schedule.values())
    # Sweeps have more room than the doorbell.
    assert sweep_scheduler.WAITING_MAX > 2 * doorbell.WAITING_MAX
