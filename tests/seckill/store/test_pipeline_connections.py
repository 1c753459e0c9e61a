"""How the pipeline opens its connection, gives it up and opens the next one, and what calls hear meanwhile."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from redis.exceptions import ReadOnlyError

from seckill import ledger
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from seckill.store.failures import Cause
from seckill.store.pipeline import pipeline as one_pipeline
from seckill.store.pipeline.asking import Pipelines
from seckill.store.pipeline.connection import opened
from shop.local.ports import free_port
from tests.own_store import OwnStore, running
from tests.processes import wait_until
from tests.seckill.store.items import ANSWER_SECONDS
from tests.steps.pipelines import (
    ITEM_ID,
    SECONDS_MAX,
    TERMS,
    RunningPipelines,
    cause_of,
    demoted,
    frozen,
    running_at,
    through_proxy,
    told,
    wait_for_answer,
)

Answers = list[ledger.Reservation | BaseException]


def connections_made(store: OwnStore) -> int:
    made: int = store.client.info("stats")["total_connections_received"]
    return made


def test_a_store_that_answers_again_is_asked_at_the_next_probe(store: OwnStore, web: RunningPipelines) -> None:
    """A call that the breaker lets through tries the store, however often a connection could not be opened."""
    with mock.patch.object(one_pipeline, "BACKOFF_SECONDS", 0.6):
        web.reserve(ITEM_ID)
        with frozen(store):
            ends_s = time.monotonic() + 2.6
            while time.monotonic() < ends_s:
                web.reserve_at_once(ITEM_ID, buyer_ids=range(1, 2))
                time.sleep(0.02)
        began_s = time.monotonic()
        wait_for_answer(web)
        assert time.monotonic() - began_s < 1.4


def test_an_attempt_that_fails_in_an_unknown_way_is_not_the_last_one(store: OwnStore, web: RunningPipelines) -> None:
    failing = mock.Mock(side_effect=[ValueError("a port that is no number"), mock.DEFAULT], wraps=opened)
    with mock.patch.object(one_pipeline, "opened", failing):
        assert cause_of(web) is Cause.UNREACHABLE
        wait_for_answer(web)


def test_a_connection_that_takes_long_to_open_keeps_nobody_waiting(store: OwnStore, web: RunningPipelines) -> None:
    """Each step of it is in time, all of them together are not."""
    with through_proxy(store) as proxy:
        proxy.delay_seconds = 0.8
        began_s = time.monotonic()
        assert told(web.reserve_at_once(ITEM_ID, buyer_ids=range(1, 4))) == {"timeout": 3}
        assert time.monotonic() - began_s < ANSWER_SECONDS
        proxy.delay_seconds = 0
        wait_for_answer(web)


def test_a_silent_server_is_waited_for_once_when_a_process_starts(web: RunningPipelines) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as silent, running_at(f"redis://127.0.0.1:{port(silent)}/0"):
        began_s = time.monotonic()
        web.run(web.pipelines.connect(range(1, 11)))
        assert time.monotonic() - began_s < ANSWER_SECONDS


def port(listener: socket.socket) -> int:
    number: int = listener.getsockname()[1]
    return number


def test_a_server_that_stays_demoted_does_not_get_a_connection_for_each_call(
    store: OwnStore, web: RunningPipelines
) -> None:
    web.reserve(ITEM_ID)
    with demoted(store):
        before, began_s = connections_made(store), time.monotonic()
        assert {cause_of(web, buyer_id=2) for _ in range(40)} == {Cause.READONLY}
        made, seconds = connections_made(store) - before, time.monotonic() - began_s
    assert made <= 2 + seconds / one_pipeline.BACKOFF_SECONDS


@contextmanager
def one_told_and_one_not(store: OwnStore, web: RunningPipelines) -> Iterator[Future[Answers]]:
    """Of two calls under way, one hears that the server is demoted, and the other one hears nothing."""
    with through_proxy(store) as proxy, ThreadPoolExecutor(1) as pool:
        web.reserve(ITEM_ID)
        with demoted(store):
            proxy.reply_bytes, proxy.goes_silent = reply_of_a_replica_bytes(store), True
            under_way = pool.submit(web.reserve_at_once, ITEM_ID, buyer_ids=range(10, 12))
            wait_until(lambda: proxy.reply_bytes is None, seconds_max=SECONDS_MAX)
            yield under_way
        wait_for_answer(web)
        assert told(under_way.result()) == {"readonly": 1, "timeout": 1}


def test_a_former_primary_that_falls_silent_does_not_fail_calls_over_the_next_connection(
    store: OwnStore, web: RunningPipelines
) -> None:
    answers: Answers = []
    with one_told_and_one_not(store, web) as under_way:
        while not under_way.done() or len(answers) < 3:
            answers += web.reserve_at_once(ITEM_ID, buyer_ids=range(20, 21))
        for _ in range(3):
            answers += web.reserve_at_once(ITEM_ID, buyer_ids=range(20, 21))
    assert set(told(answers)) == {"readonly"}


def test_no_call_is_forgotten_after_a_former_connection_was_given_up(store: OwnStore, web: RunningPipelines) -> None:
    with one_told_and_one_not(store, web):
        pass
    wait_for_answer(web)
    # Calls that miss the script wait once more, over the connection that has lived on.
    store.client.script_flush()
    assert web.reserve(ITEM_ID).outcome is Outcome.UNAVAILABLE


def reply_of_a_replica_bytes(store: OwnStore) -> int:
    keys, args = ledger.reserve_slots(
        item_id=ITEM_ID, reservation_id=passes.new_reservation_id(ITEM_ID), buyer_id=1000, units=1
    )
    with pytest.raises(ReadOnlyError) as raised:
        store.client.evalsha(scripts.RESERVE.sha, len(keys), *keys, *args)
    return len(f"-READONLY {raised.value}\r\n")


def test_a_replica_without_its_primary_is_left(store: OwnStore, web: RunningPipelines) -> None:
    web.reserve(ITEM_ID)
    connections = {client["id"] for client in store.client.client_list()}
    store.client.config_set("replica-serve-stale-data", "no")
    try:
        with demoted(store):
            assert cause_of(web, buyer_id=2) is Cause.UNREACHABLE
    finally:
        store.client.config_set("replica-serve-stale-data", "yes")
    wait_for_answer(web)
    assert {client["id"] for client in store.client.client_list()} != connections


def test_a_process_that_was_busy_itself_reads_what_has_come(store: OwnStore, web: RunningPipelines) -> None:
    web.reserve(ITEM_ID)

    async def ask() -> ledger.Reservation:
        loop, (readable, writable) = asyncio.get_running_loop(), socket.socketpair()

        def work() -> None:
            time.sleep(1.5)
            loop.remove_reader(readable)

        with readable, writable:
            call = asyncio.create_task(web.asked(ITEM_ID, buyer_id=2))
            # The call is sent in the second turn of the loop, and then something else is read.
            await asyncio.sleep(0)
            loop.add_reader(readable, work)
            writable.send(b"1")
            return await call

    assert web.run(ask()).outcome is Outcome.RESERVED


def test_replies_in_pieces_are_put_together(store: OwnStore, web: RunningPipelines) -> None:
    with through_proxy(store) as proxy:
        proxy.piece_bytes = 3
        answers = web.reserve_at_once(ITEM_ID, buyer_ids=range(1, 61))
    assert told(answers) == {"reserved": 50, "held_by_others": 10}


def test_each_reply_is_for_its_call_though_others_were_given_up_or_their_callers_have_gone(
    store: OwnStore, web: RunningPipelines
) -> None:
    """The units that a call asks for come back in its yes."""
    ledger.publish(item_id=8, terms=replace(TERMS, quantity=500, per_buyer_max=9))
    web.reserve(8)

    async def ask() -> list[ledger.Reservation | BaseException]:
        early = [asyncio.create_task(web.asked(8, buyer_id=100 + units, units=units)) for units in range(1, 6)]
        await asyncio.sleep(0.8)
        late = [asyncio.create_task(web.asked(8, buyer_id=200 + units, units=units)) for units in range(1, 10)]
        await asyncio.sleep(0.05)
        for units in (2, 5, 8):
            late[units - 1].cancel()
        causes = [error.cause for error in await asyncio.gather(*early, return_exceptions=True)]  # type: ignore[union-attr]
        assert causes == [Cause.TIMEOUT] * 5
        os.kill(store.process.pid or 0, signal.SIGCONT)
        return await asyncio.gather(*late, return_exceptions=True)

    with frozen(store):
        answers = web.run(ask())
    units = [answer.units if isinstance(answer, ledger.Reservation) else None for answer in answers]
    assert units == [1, None, 3, 4, None, 6, 7, None, 9]
    assert isinstance(answers[1], asyncio.CancelledError)
    # Each was counted once, also those whose callers had gone.
    assert ledger.read(item_id=8).held == 1 + sum(range(1, 6)) + sum(range(1, 10))  # type: ignore[union-attr]


def test_a_server_that_reads_slowly_gets_all_calls(store: OwnStore, web_on_any_loop: RunningPipelines) -> None:
    def opened_narrow(client: Any) -> Any:
        connection = opened(client)
        connection._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        return connection

    buyers = 500
    ledger.publish(item_id=8, terms=replace(TERMS, quantity=buyers))
    with (
        mock.patch.object(one_pipeline, "opened", opened_narrow),
        mock.patch.object(one_pipeline, "UNDER_WAY_MAX", buyers),
    ):
        assert told(web_on_any_loop.reserve_at_once(8, buyer_ids=range(1, buyers + 1))) == {"reserved": buyers}


def test_a_store_that_is_loading_says_so_and_is_used_when_it_has_loaded(tmp_path: Path, web: RunningPipelines) -> None:
    with (
        running(tmp_path, key_load_delay="200", loading_process_events_interval_bytes="1024") as store,
        running_at(store.url),
    ):
        ledger.publish(item_id=ITEM_ID, terms=TERMS)
        web.reserve(ITEM_ID)
        with store.client.pipeline(transaction=False) as pipeline:
            for number in range(6_000):
                pipeline.set(f"other-{number}", "")
            pipeline.execute()
        # While it loads a rewritten file, it answers after each kilobyte.
        store.client.bgrewriteaof()
        wait_until(lambda: store.client.info("persistence")["aof_rewrite_in_progress"] == 0, seconds_max=SECONDS_MAX)
        store.kill()
        store.process.start()
        answers: list[Any] = []
        while not answers or isinstance(answers[-1], StoreUnreachable):
            answers += web.reserve_at_once(ITEM_ID, buyer_ids=range(1, 2))
            time.sleep(0.01)
    assert Cause.LOADING.value in told(answers)


def test_many_reconnects_leave_no_file_open_and_open_one_connection_each(
    store: OwnStore, web: RunningPipelines
) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    web.reserve(ITEM_ID)
    before, made = open_files(), connections_made(store)
    with mock.patch.object(one_pipeline, "BACKOFF_SECONDS", 0.0):
        for _ in range(30):
            store.client.client_kill_filter(_type="normal", skipme=True)
            web.reserve_at_once(ITEM_ID, buyer_ids=range(1, 20))
    wait_for_answer(web)
    assert open_files() <= before + 2
    assert connections_made(store) - made <= 31


def test_a_loop_that_was_closed_while_it_connected_keeps_the_next_one_from_nothing() -> None:
    with socket.create_server(("127.0.0.1", free_port())) as silent, running_at(f"redis://127.0.0.1:{port(silent)}/0"):
        pipelines, first = Pipelines(), asyncio.new_event_loop()
        connecting = first.create_task(pipelines.connect([ITEM_ID]))
        first.run_until_complete(asyncio.sleep(0.1))
        first.close()
        assert not connecting.done()
        with RunningPipelines() as web:
            web.run(pipelines.connect([ITEM_ID]))
