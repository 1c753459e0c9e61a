"""The doorbell: a buyer never waits for the broker, and once it answers again it hears of new reservations."""

import base64
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from seckill import doorbell
from seckill.doorbell import Doorbell
from tests.own_store import OwnStore, free_port, running

# What a ring may take of a buyer's time. One in a hundred may be caught by a machine that does much else, but a broker
# that is waited for would show in each, and for seconds.
RING_SECONDS_MAX = 0.05
CAUGHT_SECONDS_MAX = 0.5
# Longer than the client waits for a broker that hangs, and its rest after it.
HEARD_SECONDS = 20.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OwnStore]:
    with running(tmp_path, appendonly="no") as own_store:
        yield own_store


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Doorbell]]:
    """A doorbell that rings at this broker, with the settings of the shop."""
    apps, bells = [], []

    def connect(url: str) -> Doorbell:
        app = Celery("shop of a test", set_as_current=False)
        app.config_from_object("django.conf:settings", namespace="CELERY")
        app.conf.update(broker_url=url)
        apps.append(app)
        monkeypatch.setattr(doorbell, "current_app", app)
        monkeypatch.setattr(doorbell, "REST_SECONDS", 0.1)
        bells.append(Doorbell())
        return bells[-1]

    yield connect
    for bell in bells:
        # Its thread may be waiting for a broker still; it must not turn to that of the next test.
        bell._items.clear()
    for app in apps:
        app.close()


def queued(broker: OwnStore) -> list[dict[str, Any]]:
    """The messages in the queue of drains, the latest first."""
    return [json.loads(message) for message in broker.client.lrange("drain", 0, -1)]


def items(broker: OwnStore) -> list[int]:
    """The items that were rung for, in the order of the rings."""
    bodies = [json.loads(base64.b64decode(message["body"])) for message in reversed(queued(broker))]
    return [kwargs["item_id"] for _, kwargs, _ in bodies]


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + HEARD_SECONDS
    while not happened():
        assert time.monotonic() < deadline, "the ring was not heard"
        time.sleep(0.005)


def ring_often(bell: Doorbell, *, times: int = 1000) -> None:
    """Ring for some items, none of which may take long."""
    durations = []
    for number in range(times):
        started = time.perf_counter()
        bell.ring(number % 10 + 1)
        durations.append(time.perf_counter() - started)
    durations.sort()
    assert durations[times * 99 // 100] < RING_SECONDS_MAX
    assert durations[-1] < CAUGHT_SECONDS_MAX


def test_a_ring_is_a_message_for_the_drain_of_its_item(broker: OwnStore, connect: Callable[[str], Doorbell]) -> None:
    connect(broker.url).ring(42)
    until(lambda: queued(broker))
    [message] = queued(broker)
    assert items(broker) == [42]
    assert message["headers"]["task"] == "orders.tasks.drain_outbox"
    assert message["headers"]["expires"] is not None
    assert message["headers"]["ignore_result"] is True


def test_a_ring_after_a_silence_is_heard_too(broker: OwnStore, connect: Callable[[str], Doorbell]) -> None:
    bell = connect(broker.url)
    for count in range(1, 6):
        bell.ring(42)
        until(lambda count=count: len(queued(broker)) == count)  # type: ignore[misc]


def test_every_item_is_rung_for(broker: OwnStore, connect: Callable[[str], Doorbell]) -> None:
    bell = connect(broker.url)
    for item_id in range(1, 21):
        bell.ring(item_id)
    until(lambda: set(items(broker)) == set(range(1, 21)))


def test_a_thousand_reservations_are_one_ring_per_interval_and_the_last_is_heard(
    broker: OwnStore, connect: Callable[[str], Doorbell]
) -> None:
    bell = connect(broker.url)
    bell.ring(1)
    until(lambda: queued(broker))
    started = time.monotonic()
    for _ in range(1000):
        bell.ring(42)
        time.sleep(0.0005)
    bell.ring(43)
    until(lambda: 43 in items(broker))
    seconds = time.monotonic() - started
    rings = items(broker).count(42)
    assert 2 <= rings <= seconds / doorbell.INTERVAL_SECONDS + 1


def test_a_broker_that_is_down_costs_the_buyer_nothing(connect: Callable[[str], Doorbell]) -> None:
    bell = connect(f"redis://127.0.0.1:{free_port()}/0")
    ring_often(bell)


def test_a_broker_that_never_answers_costs_the_buyer_nothing(connect: Callable[[str], Doorbell]) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as silent:
        bell = connect(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        bell.ring(1)
        with silent.accept()[0] as wire:
            assert wire.recv(1), "the thread is in the middle of its talk"
            ring_often(bell)


def test_a_broker_that_hangs_for_a_while_costs_the_buyer_nothing_and_hears_of_it_later(
    broker: OwnStore, connect: Callable[[str], Doorbell]
) -> None:
    bell = connect(broker.url)
    bell.ring(1)
    until(lambda: queued(broker))
    pid = broker.process.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        ring_often(bell)
    finally:
        os.kill(pid, signal.SIGCONT)
    bell.ring(42)
    until(lambda: 42 in items(broker))


def test_a_broker_that_is_full_costs_the_buyer_nothing_and_hears_of_it_later(
    broker: OwnStore, connect: Callable[[str], Doorbell], caplog: pytest.LogCaptureFixture
) -> None:
    bell = connect(broker.url)
    with broker.full():
        ring_often(bell)
        until(lambda: "doorbell_not_heard" in caplog.text)
        assert items(broker) == []
    bell.ring(42)
    until(lambda: 42 in items(broker))


def test_a_broker_that_comes_back_hears_of_new_reservations(
    broker: OwnStore, connect: Callable[[str], Doorbell], caplog: pytest.LogCaptureFixture
) -> None:
    bell = connect(broker.url)
    bell.ring(1)
    until(lambda: queued(broker))
    broker.kill()
    ring_often(bell)
    until(lambda: "doorbell_not_heard" in caplog.text)
    broker.start()
    until(lambda: bell.ring(42) or 42 in items(broker))  # type: ignore[func-returns-value]


def test_a_process_without_room_for_a_thread_still_answers_its_buyers(
    broker: OwnStore, connect: Callable[[str], Doorbell], monkeypatch: pytest.MonkeyPatch
) -> None:
    bell = connect(broker.url)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", refuse)
        bell.ring(42)
        bell.ring(43)
    bell.ring(44)
    until(lambda: set(items(broker)) == {42, 43, 44})
