"""A store that fails: why is told apart, said once, and nobody waits for a silent one."""

import contextvars
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from django.test import Client

from bench.faults.wire.proxy import Proxy
from seckill import ledger
from seckill.items import item_state
from seckill.store import client as store_client
from seckill.store import failures as store_failures
from seckill.store.breaker import CircuitBreaker
from seckill.store.client import StoreUnreachable
from seckill.store.failures import Cause, FailureLog
from shop.local.ports import free_port
from tests.own_store import OwnStore, as_reservation_store, running
from tests.processes import wait_until
from tests.steps.pipelines import frozen, running_at
from tests.steps.store import store_answers


def cause_of_failure(call: Callable[[], object]) -> Cause:
    with pytest.raises(StoreUnreachable) as raised:
        call()
    return raised.value.cause


def publish_call() -> object:
    terms = ledger.Terms(5, 1, 4_000_000_000_000, 60_000, 1, 1900, "CNY")
    return ledger.publish(item_id=1, terms=terms)


def test_a_wrong_password(own_store: OwnStore) -> None:
    wrong = own_store.url.replace("of-a-test", "another")
    with running_at(wrong):
        assert cause_of_failure(lambda: ledger.read(item_id=1)) is Cause.PASSWORD


def test_a_value_of_another_type(own_store: OwnStore) -> None:
    own_store.client.set("seckill:{1}:item", "not a hash")
    with as_reservation_store(own_store):
        assert cause_of_failure(lambda: ledger.read(item_id=1)) is Cause.SCRIPT_ERROR
    own_store.client.flushall()


def test_all_threads_and_requests_have_one_client(own_store: OwnStore) -> None:
    """Each request of the event loop has a context of its own, for which Django would make a new one."""
    before = store_client.reservation_servers()
    with ThreadPoolExecutor(1) as thread:
        of_thread = thread.submit(store_client.reservation_servers).result()
    clients = [contextvars.Context().run(store_client.reservation_servers), of_thread]
    assert all(client is before for client in clients)
    # And another one for other settings.
    with as_reservation_store(own_store):
        assert store_client.reservation_servers() is not before
    assert store_client.reservation_servers() is not before


def test_a_silent_store_is_asked_by_one_call_at_a_time(own_store: OwnStore) -> None:
    with as_reservation_store(own_store):
        with frozen(own_store):
            assert cause_of_failure(lambda: ledger.read(item_id=1)) is Cause.TIMEOUT
            began_s = time.monotonic()
            for _time in range(100):
                assert cause_of_failure(lambda: ledger.read(item_id=1)) is Cause.TIMEOUT
            # A timeout each would take a minute and a half.
            assert time.monotonic() - began_s < 5
        wait_until(store_answers, seconds_max=5)


def test_the_breaker_lets_one_call_try_and_closes_at_any_answer() -> None:
    now_s = 100.0
    breaker = CircuitBreaker(probe_interval_seconds=0.25, probe_seconds_max=2.0, clock_s=lambda: now_s)
    breaker.timed_out()
    assert not breaker.may_call()
    now_s += 0.25
    assert [breaker.may_call(), breaker.may_call()] == [True, False]
    breaker.timed_out()
    now_s += 0.2
    assert not breaker.may_call()
    now_s += 0.1
    assert breaker.may_call()
    # The thread of this attempt was killed, so it never reports.
    now_s += 2.0
    assert breaker.may_call()
    breaker.answered()
    assert [breaker.may_call(), breaker.may_call()] == [True, True]


def test_of_many_threads_one_tries() -> None:
    breaker = CircuitBreaker(probe_interval_seconds=0.0, probe_seconds_max=60.0)
    breaker.timed_out()
    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(lambda _: breaker.may_call(), range(1000))) == 1


@pytest.mark.parametrize("cause", [Cause.READONLY, Cause.REPLICAS])
def test_a_primary_that_another_one_has_replaced_is_left(tmp_path: Path, cause: Cause) -> None:
    """The address leads to the new primary; the connections to the former one are open, and it refuses each write.

    It is demoted, or cut off from its replicas.
    """
    with running(tmp_path / "first") as first, running(tmp_path / "second") as second, running_proxy() as proxy:
        port = free_port()
        proxy.add("store", port=port, target_port=first.server.port)
        address = urlsplit(first.url)._replace(netloc=f":of-a-test@127.0.0.1:{port}").geturl()
        with running_at(address):
            publish_call()
            if cause is Cause.READONLY:
                first.client.config_set("masterauth", "of-a-test")
                first.client.replicaof("127.0.0.1", second.server.port)
            else:
                first.client.config_set("min-replicas-to-write", "1")
            proxy.retarget(second.server.port, "store", reset=False)
            # Each open connection says it once.
            assert cause_of_failure(lambda: item_state.mark_verified(item_id=1, incarnation="x")) is cause
            item_state.mark_verified(item_id=1, incarnation="y")
        assert second.client.hget("seckill:{1}:item", "incarnation") == b"y"


def test_a_primary_that_only_lacks_its_replicas_keeps_its_connections(tmp_path: Path) -> None:
    """No other one takes over: thousands of calls a second must not ask the sentinels each time."""
    with running(tmp_path / "store") as own, running_at(own.url):
        publish_call()
        own.client.config_set("min-replicas-to-write", "1")
        before = own.client.info("stats")["total_connections_received"]
        for _time in range(50):
            assert cause_of_failure(lambda: item_state.mark_verified(item_id=1, incarnation="x")) is Cause.REPLICAS
        # More than one only where fifty calls take longer than a second.
        assert own.client.info("stats")["total_connections_received"] - before <= 10


@contextmanager
def running_proxy() -> Iterator[Proxy]:
    proxy = Proxy()
    try:
        yield proxy
    finally:
        proxy.stop()


@pytest.mark.slow
def test_an_outage_is_two_lines_for_each_cause_the_second_with_the_number_of_calls() -> None:
    failures = FailureLog(quiet_seconds=2.5)
    with mock.patch.object(store_failures, "log") as log:

        def ended() -> list[Cause]:
            """Those of this test: the process logs the ends of outages of others too."""
            return [call.kwargs["cause"] for call in log.warning.call_args_list if call.kwargs["count"] == 3000]

        # As long as it is not quiet, it is one outage.
        for _time in range(3):
            for _call in range(1000):
                failures.report(Cause.FULL, "OOM of this test")
                failures.report(Cause.TIMEOUT, "OOM of this test")
            time.sleep(1.1)
        assert ended() == []
        wait_until(lambda: sorted(ended()) == [Cause.FULL, Cause.TIMEOUT], seconds_max=20)
    begun = [call.kwargs["cause"] for call in log.error.call_args_list if "this test" in call.kwargs["error"]]
    assert sorted(begun) == [Cause.FULL, Cause.TIMEOUT]
    assert store_failures.failure_counts()[Cause.FULL] >= 3000


@pytest.mark.django_db
def test_prometheus_sees_the_causes(client: Client, own_store: OwnStore) -> None:
    cache.clear()
    before = client.get("/metrics").content.decode()
    assert 'stampede_store_failures_total{cause="full"} 0.0' in before
    with as_reservation_store(own_store), own_store.full():
        assert cause_of_failure(publish_call) is Cause.FULL
    with pytest.raises(StoreUnreachable):
        store_client.ask(lambda client: client.execute_command("NO-SUCH-COMMAND"), item_id=1)  # type: ignore[no-untyped-call]
    wait_until(
        lambda: 'failures_total{cause="script_error"} 1.0' in client.get("/metrics").content.decode(), seconds_max=10
    )
