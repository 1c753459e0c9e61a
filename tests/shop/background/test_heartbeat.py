"""Workers and beat give signs of life: one that hangs gives none, and is restarted by its supervisor."""

import importlib
import os
import socket
import time
from pathlib import Path
from unittest import mock

import pytest
from celery import Celery
from pytest_django import Settings

from shop.background import heartbeat, worker_heartbeat
from shop.background.sweep_scheduler import SweepScheduler
from shop.background.worker_heartbeat import HeartbeatStep
from shop.celery import app


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


def test_workers_share_what_they_have_loaded_and_a_process_that_has_grown_is_replaced() -> None:
    assert app.conf.imports[-1] == "shop.background.worker_memory"
    with mock.patch("gc.freeze") as freeze:
        # Another test of this process may have imported it.
        importlib.reload(importlib.import_module("shop.background.worker_memory"))
    freeze.assert_called_with()
    # In kilobytes. Two or three of them and their parent stay below the limit of their container.
    assert 100_000 < app.conf.worker_max_memory_per_child < 300_000
