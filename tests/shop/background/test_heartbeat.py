"""Workers and beat give signs of life: one that hangs gives none, and is restarted by its supervisor."""

import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from celery import Celery
from pytest_django import Settings

from shop.background import heartbeat, worker_heartbeat
from shop.background.sweep_scheduler import SweepScheduler
from shop.background.worker_heartbeat import HeartbeatStep
from shop.celery import app
from shop.local.process import stop_processes
from tests.live_shop import ALL_QUEUES, live_processes
from tests.processes import wait_until


@pytest.fixture
def file(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(heartbeat, "_last_s", -1000.0)
    settings.HEARTBEAT_FILE = str(tmp_path / "heartbeat")
    return tmp_path / "heartbeat"


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> HeartbeatStep:
    monkeypatch.setattr(worker_heartbeat, "Thread", mock.Mock())
    return HeartbeatStep(mock.Mock())


def test_beat_gives_a_sign_in_each_round(file: Path) -> None:
    scheduler = SweepScheduler(app=Celery("test", set_as_current=False, broker="memory://"))
    scheduler.tick()
    assert file.exists()


def test_a_file_that_cannot_be_written_ends_nothing(file: Path, settings: Settings) -> None:
    settings.HEARTBEAT_FILE = str(file / "no" / "folder")
    heartbeat.beat_once()


@pytest.mark.parametrize("address", ["{}/notify", "@stampede-test-{}"])
def test_systemd_is_told(address: str, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = address.format(tmp_path if address[0] == "{" else os.getpid())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        heartbeat.beat_once()
        systemd.settimeout(30)
        assert systemd.recv(100) == b"WATCHDOG=1"


def test_a_worker_whose_loop_hangs_gives_no_sign(step: HeartbeatStep, monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = mock.Mock()
    step.start(consumer)
    [(_seconds, turn)] = [call.args for call in consumer.timer.call_repeatedly.call_args_list]
    assert step.is_alive()
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s + worker_heartbeat.TURNED_WITHIN_SECONDS + 1)
    assert not step.is_alive()
    turn()
    assert step.is_alive()


def test_a_worker_that_waits_for_its_broker_is_alive(step: HeartbeatStep, monkeypatch: pytest.MonkeyPatch) -> None:
    step.start(mock.Mock())
    step.stop(mock.Mock())
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s + 3600)
    assert step.is_alive()


@pytest.mark.django_db(transaction=True)
def test_a_worker_writes_its_file_but_not_while_it_is_frozen_and_says_when_it_stops(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"
    with live_processes(names=(ALL_QUEUES,), HEARTBEAT_FILE=str(file)) as (_url, processes):
        worker = processes[ALL_QUEUES]
        wait_until(file.exists, seconds_max=60)
        wait_until(younger_than(file, file.stat().st_mtime), seconds_max=60)
        assert worker.pid
        os.kill(worker.pid, signal.SIGSTOP)
        try:
            frozen_at_s = file.stat().st_mtime
            time.sleep(1.5 * heartbeat.INTERVAL_SECONDS)
            assert file.stat().st_mtime == frozen_at_s
        finally:
            os.kill(worker.pid, signal.SIGCONT)
        stop_processes(processes=[worker])
        lines = worker.log_since_start().splitlines()
    # Every line has a time, also those of the stop.
    assert any("Warm shutdown" in line for line in lines)
    assert [line for line in lines if not line.startswith("timestamp=")] == []


def younger_than(file: Path, written_s: float) -> Callable[[], Any]:
    return lambda: file.stat().st_mtime > written_s


def test_a_process_of_a_pool_that_has_grown_is_replaced() -> None:
    """In kilobytes. Two or three of them and their parent stay below the limit of their container."""
    assert 100_000 < app.conf.worker_max_memory_per_child < 300_000
