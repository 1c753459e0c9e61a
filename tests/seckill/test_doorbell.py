"""The doorbell: a buyer never waits for the broker, and once it answers again, drains are requested again."""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from celery import Celery

from seckill.outbox import doorbell, lease
from seckill.outbox.doorbell import Doorbell
from shop.local.ports import free_port
from tests.own_store import OwnStore, running
from tests.steps.pipelines import frozen

# How long a request may take. On a busy machine one in a hundred may be slower; waiting for the broker would slow down
# every one of them, by seconds.
REQUEST_SECONDS_MAX = 0.05
SLOWEST_SECONDS_MAX = 0.5
# Longer than the client waits for a broker that hangs, and the pause after it.
ARRIVAL_SECONDS_MAX = 20.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    with running(tmp_path_factory.mktemp("broker"), appendonly="no") as own_store:
        yield own_store


@pytest.fixture
def broker(server: OwnStore) -> OwnStore:
    server.client.flushall()
    return server


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Doorbell]]:
    """A doorbell that sends to this broker, with the settings of the shop."""
    apps, bells = [], []

    def connect(url: str) -> Doorbell:
        app = Celery("shop of a test", set_as_current=False)
        app.config_from_object("django.conf:settings", namespace="CELERY")
        app.conf.update(broker_url=url)
        apps.append(app)
        monkeypatch.setattr(doorbell, "current_app", app)
        monkeypatch.setattr(doorbell, "PAUSE_AFTER_FAILURE_SECONDS", 0.1)
        bells.append(Doorbell())
        return bells[-1]

    yield connect
    for bell in bells:
        # Its thread may still be waiting for a broker; it must not send to that of the next test.
        bell._items.clear()
    for app in apps:
        app.close()


@pytest.fixture
def bell(broker: OwnStore, connect: Callable[[str], Doorbell]) -> Doorbell:
    return connect(broker.url)


def queued(broker: OwnStore) -> list[dict[str, Any]]:
    """The messages in the queue of drains, the latest first."""
    return [json.loads(message) for message in broker.client.lrange("drain", 0, -1)]


def items(broker: OwnStore) -> list[int]:
    """The items to drain, in the order in which they were queued."""
    bodies = [json.loads(base64.b64decode(message["body"])) for message in reversed(queued(broker))]
    return [kwargs["item_id"] for _, kwargs, _ in bodies]


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + ARRIVAL_SECONDS_MAX
    while not happened():
        assert time.monotonic() < deadline, "the message did not arrive"
        time.sleep(0.005)


def request_often(bell: Doorbell, *, times: int = 1000) -> None:
    """Request many drains, none of which may take long."""
    durations = []
    for number in range(times):
        started = time.perf_counter()
        bell.request_drain(number % 10 + 1)
        durations.append(time.perf_counter() - started)
    durations.sort()
    assert durations[times * 99 // 100] < REQUEST_SECONDS_MAX
    assert durations[-1] < SLOWEST_SECONDS_MAX


def test_a_request_is_a_message_for_the_drain_of_its_item(broker: OwnStore, bell: Doorbell) -> None:
    bell.request_drain(42)
    until(lambda: queued(broker))
    [message] = queued(broker)
    assert items(broker) == [42]
    assert message["headers"]["task"] == "orders.tasks.drain_outbox"
    assert message["headers"]["expires"] is not None
    assert message["headers"]["ignore_result"] is True
    # After a pause another one is sent, and one for each item.
    for item_id in (42, *range(1, 21)):
        bell.request_drain(item_id)
    until(lambda: sorted(items(broker)) == [*range(1, 21), 42, 42])


def test_a_thousand_reservations_are_one_message_per_interval_and_the_last_is_sent(
    broker: OwnStore, bell: Doorbell
) -> None:
    bell.request_drain(1)
    until(lambda: queued(broker))
    started = time.monotonic()
    for _ in range(1000):
        bell.request_drain(42)
        time.sleep(0.0005)
    bell.request_drain(43)
    until(lambda: 43 in items(broker))
    seconds = time.monotonic() - started
    messages = items(broker).count(42)
    assert 2 <= messages <= seconds / doorbell.INTERVAL_SECONDS + 1


def test_while_no_worker_takes_messages_they_do_not_pile_up(
    broker: OwnStore, bell: Doorbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorbell, "INTERVAL_SECONDS", 0.0)
    asked = broker.calls().get("llen", 0)
    for number in range(3 * doorbell.WAITING_MAX):
        bell.request_drain(number)
        until(lambda: not bell._items)
    until(lambda: len(queued(broker)) >= doorbell.WAITING_MAX)
    until(lambda: broker.calls()["llen"] > asked + 3 * doorbell.WAITING_MAX)
    assert len(queued(broker)) == doorbell.WAITING_MAX
    # When a worker is back, drains are requested again.
    broker.client.delete("drain")
    bell.request_drain(42)
    until(lambda: items(broker) == [42])


def test_no_drain_is_requested_while_a_process_drains_the_item(broker: OwnStore, bell: Doorbell) -> None:
    lease.take(42)
    bell.request_drain(42)
    until(lambda: not bell._items)
    bell.request_drain(43)
    until(lambda: items(broker))
    assert items(broker) == [43]
    lease.give_back(42)
    bell.request_drain(42)
    until(lambda: items(broker) == [43, 42])


def test_a_broker_that_never_answers_costs_the_buyer_nothing(connect: Callable[[str], Doorbell]) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as silent:
        bell = connect(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        bell.request_drain(1)
        with silent.accept()[0] as wire:
            assert wire.recv(1), "the thread is sending"
            request_often(bell)


def test_a_broker_that_hangs_for_a_while_costs_the_buyer_nothing_and_is_told_later(
    broker: OwnStore, bell: Doorbell
) -> None:
    bell.request_drain(1)
    until(lambda: queued(broker))
    with frozen(broker):
        request_often(bell)
    bell.request_drain(42)
    until(lambda: 42 in items(broker))


def test_a_broker_that_comes_back_is_told_of_new_reservations(
    broker: OwnStore, bell: Doorbell, caplog: pytest.LogCaptureFixture
) -> None:
    bell.request_drain(1)
    until(lambda: queued(broker))
    broker.kill()
    request_often(bell)
    until(lambda: "drain_request_not_sent" in caplog.text)
    broker.start()
    until(lambda: bell.request_drain(42) or 42 in items(broker))  # type: ignore[func-returns-value]


def test_a_process_without_room_for_a_thread_still_answers_its_buyers(
    broker: OwnStore, bell: Doorbell, monkeypatch: pytest.MonkeyPatch
) -> None:

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", refuse)
        bell.request_drain(42)
        bell.request_drain(43)
    bell.request_drain(44)
    until(lambda: set(items(broker)) == {42, 43, 44})
