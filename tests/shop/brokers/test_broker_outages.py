"""A broker that is lost in the middle of a sale: buyers notice nothing, and what they reserved becomes orders.

The broker is a real one: Redis behind Sentinel, where cache and sessions are lost with it, and RabbitMQ.
"""

import email
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from celery import Celery

from orders.life import lifecycle
from orders.models import Mail, Order, OrderStatus
from orders.repair.audit import audit
from seckill.outbox import doorbell
from shop.celery import messages_waiting
from shop.configuration.message_broker import broker_settings
from shop.local.process import Process, stop_processes
from shop.local.stores.sentinel_store import SentinelStore
from shop.models import Product
from tests.embedded_servers import temporary_server_directory
from tests.live_shop import ALL_QUEUES, live_processes
from tests.own_store import running_replicated
from tests.processes import wait_until
from tests.shop.brokers.rabbitmq_server import RabbitServer, need_rabbitmq, rabbit_server
from tests.steps.buying import let_deadlines_pass, new_buyers, with_address
from tests.steps.caller import Caller
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db(transaction=True)

# The bound of the API for every answer.
ANSWER_SECONDS_MAX = 2.0
ORDER_SECONDS_MAX = 60.0
FAILOVER_SECONDS_MAX = 30.0
BUYERS = 40


class Broker(Protocol):
    """A broker of a test. `environment` is that of the shop's processes, of which `beats` are started in the middle."""

    environment: dict[str, str]
    beats: tuple[str, ...]

    def lose(self) -> None:
        """kill -9."""

    def bring_back(self) -> None: ...


class SentinelBroker:
    # As on two hosts.
    beats: tuple[str, ...] = ("beat-1", "beat-2")

    def __init__(self, store: SentinelStore) -> None:
        self.store = store
        # Not named for Celery: the broker is where the cache is.
        self.environment = {"REDIS_URL": store.url, "CELERY_BROKER_URL": ""}

    def lose(self) -> None:
        self.killed = self.store.primary()
        self.store.kill(self.killed)

    def bring_back(self) -> None:
        wait_until(lambda: self.store.has_replaced(self.killed), seconds_max=FAILOVER_SECONDS_MAX)


class RabbitBroker:
    beats: tuple[str, ...] = ("beat",)

    def __init__(self, server: RabbitServer) -> None:
        self.server = server
        self.environment = {"CELERY_BROKER_URL": server.url}

    def lose(self) -> None:
        self.server.kill()

    def bring_back(self) -> None:
        self.server.start()


@pytest.fixture(scope="module")
def rabbit() -> Iterator[RabbitServer]:
    need_rabbitmq()
    with temporary_server_directory() as directory, rabbit_server(directory) as server:
        yield server


@pytest.fixture(params=["sentinel", "rabbitmq"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    if request.param == "rabbitmq":
        yield RabbitBroker(request.getfixturevalue("rabbit"))
    else:
        with running_replicated(SentinelStore) as store:
            yield SentinelBroker(store)


def told_yes(caller: Caller, pass_text: str) -> bool:
    """Whether the buyer was told yes, which must not take longer than any answer may."""
    began_s = time.monotonic()
    status, _body = caller.reserve(pass_text)
    assert time.monotonic() - began_s < ANSWER_SECONDS_MAX
    return status == 201


def as_under_a_supervisor(processes: dict[str, Process]) -> None:
    """A worker may end when its broker is lost (docs/reliability.md), and is started again."""
    for process in processes.values():
        if not process.running:
            process.start()


def test_a_rabbitmq_that_hangs_costs_the_buyer_nothing_and_is_told_later(
    rabbit: RabbitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Celery("shop of a test", set_as_current=False)
    app.conf.update(broker_settings(rabbit.url, task_seconds_max=60))
    monkeypatch.setattr(doorbell, "current_app", app)
    monkeypatch.setattr(doorbell, "PAUSE_AFTER_FAILURE_SECONDS", 0.1)
    bell = doorbell.Doorbell()
    try:
        bell.request_drain(1)
        wait_until(lambda: messages_waiting(app, "drain") == 1, seconds_max=ORDER_SECONDS_MAX)
        with rabbit.frozen():
            for number in range(200):
                began_s = time.monotonic()
                bell.request_drain(number)
                assert time.monotonic() - began_s < ANSWER_SECONDS_MAX / 4
        wait_until(lambda: messages_waiting(app, "drain") > 1, seconds_max=ORDER_SECONDS_MAX)
    finally:
        bell._items.clear()
        app.close()


def test_the_doorbell_reaches_a_worker_and_reservations_go_on_without_the_broker(
    broker: Broker, product: Product, pass_for: Callable[..., str], tmp_path: Path
) -> None:
    heartbeat = tmp_path / "heartbeat"
    variables = {"EMAIL_URL": f"filemail:///{tmp_path}/mails", "HEARTBEAT_FILE": str(heartbeat), **broker.environment}
    with live_processes(names=("web", ALL_QUEUES), **variables) as (url, processes):
        item, buyers = make_item(product, quantity=BUYERS), new_buyers(BUYERS)
        with_address(*buyers)
        caller, passes = Caller(url, item), [pass_for(buyer, item) for buyer in buyers]
        # Without beat, only the doorbell says what there is to do.
        for count, text in enumerate(passes[:5], start=1):
            assert told_yes(caller, text)
            wait_until(lambda count=count: Order.objects.count() == count, seconds_max=ORDER_SECONDS_MAX)  # type: ignore[misc]
        assert caller.call("GET", "/readyz")[0] == 200
        if isinstance(broker, RabbitBroker):
            assert all(broker.server.has_queue(name) for name in ("drain", "expiry", "celery"))
            assert all(broker.server.is_quorum_queue(name) for name in ("drain", "expiry", "celery"))
            # One of those for delayed messages, of which Celery would declare 28.
            assert not broker.server.has_queue("celery_delayed_0")
        with live_processes(names=broker.beats, **variables) as (_url, beats):
            broker.lose()
            told = [told_yes(caller, text) for text in passes[5:25]]
            broker.bring_back()
            told += [told_yes(caller, text) for text in passes[25:]]
            assert all(told)

            def all_are_orders() -> bool:
                as_under_a_supervisor({**processes, **beats})
                return Order.objects.count() == BUYERS

            wait_until(all_are_orders, seconds_max=ORDER_SECONDS_MAX)
            if len(beats) == 2:
                assert_one_beat_suffices_and_two_double_nothing(beats, tmp_path / "mails")
            heartbeat.unlink()
            wait_until(heartbeat.exists, seconds_max=ORDER_SECONDS_MAX)
        worker = processes[ALL_QUEUES]
        stop_processes(processes=[worker])
        lines = worker.log_since_start().splitlines()
    # Every line has a time, also those of the stop.
    assert any("Warm shutdown" in line for line in lines)
    assert [line for line in lines if not line.startswith("timestamp=")] == []
    paid = Order.objects.filter(status=OrderStatus.PAID).count()
    held = Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT).count()
    assert left_held_sold(item) == (BUYERS - held - paid, held, paid)
    assert audit(item_id=item.pk).comparison.problem_count == 0


def assert_one_beat_suffices_and_two_double_nothing(beats: dict[str, Process], mails: Path) -> None:
    """Some orders are paid, the others expire after one of the beats was killed, and a mail about each is sent once."""
    paid = [order.pk for order in Order.objects.order_by("pk")[:10] if lifecycle.pay(order_id=order.pk)]
    beats["beat-1"].kill()
    let_deadlines_pass()
    expired = Order.objects.filter(status=OrderStatus.EXPIRED)
    wait_until(lambda: expired.count() == BUYERS - len(paid), seconds_max=ORDER_SECONDS_MAX)
    wait_until(lambda: not Mail.objects.filter(sent_at=None).exists(), seconds_max=ORDER_SECONDS_MAX)
    wait_until(lambda: not Order.objects.filter(settled_at=None).exists(), seconds_max=ORDER_SECONDS_MAX)
    sent = [email.message_from_string(text)["Message-ID"] for text in mails_in(mails)]
    assert len(sent) == len(set(sent)) == Mail.objects.count() == BUYERS


def mails_in(directory: Path) -> list[str]:
    """The mails that Django's backend has written, several to a file."""
    texts = [path.read_text() for path in directory.iterdir()]
    return [part.strip() for text in texts for part in text.split("-" * 79) if part.strip()]
