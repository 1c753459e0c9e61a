"""With SECKILL_YES_REPLICAS, all yeses of one batch wait for one WAIT, and are none if something comes between."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest import mock

import pytest
from pytest_django import Settings

from seckill import ledger
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store.failures import Cause
from seckill.store.keys import keys_of
from seckill.store.pipeline import pipeline as one_pipeline
from tests.own_store import OwnStore, as_reservation_store, running
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
    through_proxy,
    told,
    wait_for_answer,
)


@pytest.fixture(scope="module")
def replica(server: OwnStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    # Else the server waits for 5 s for more replicas.
    server.client.config_set("repl-diskless-sync-delay", "0")
    with running(tmp_path_factory.mktemp("replica")) as replica:
        replica.client.config_set("masterauth", "of-a-test")
        replica.client.replicaof("127.0.0.1", server.server.port)
        yield replica


@pytest.fixture
def store(server: OwnStore, replica: OwnStore, settings: Settings) -> Iterator[OwnStore]:
    """A store with a replica that must confirm, and an item of 5,000 units."""
    wait_until(lambda: replica.client.info("replication")["master_link_status"] == "up", seconds_max=SECONDS_MAX)
    server.client.flushall()
    settings.SECKILL_YES_REPLICAS, settings.SECKILL_YES_WAIT_MS = 1, 800
    with as_reservation_store(server):
        ledger.publish(item_id=ITEM_ID, terms=replace(TERMS, quantity=5_000))
        yield server


def test_wherever_the_replies_are_cut_a_yes_is_told_after_the_confirmation_alone(
    store: OwnStore, replica: OwnStore, web: RunningPipelines
) -> None:
    """The confirmation is the last reply of the batch, so of a batch that is cut, no call hears a yes."""
    with through_proxy(store) as proxy, mock.patch.object(one_pipeline, "BACKOFF_SECONDS", 0.001):
        web.reserve(ITEM_ID, buyer_id=10_000)
        for reply_bytes in range(1_000):
            proxy.reply_bytes = reply_bytes
            calls = web.reserve_each(ITEM_ID, [(2 * reply_bytes + number, 1) for number in (1, 2)])
            if proxy.reply_bytes is not None:
                break
            answers = told([answer for _call, _id, answer in calls])
            # One byte more than the replies have: they came, and then the connection was lost.
            assert answers in ({"unreachable": 2}, {"reserved": 2})
            wait_for_answer(web)
        assert reply_bytes > 150
        assert told([answer for _call, _id, answer in calls]) == {"reserved": 2}
    assert replica.client.hgetall(keys_of(ITEM_ID).holds) == store.client.hgetall(keys_of(ITEM_ID).holds)


def test_calls_that_miss_the_script_wait_for_replicas_too(store: OwnStore, web: RunningPipelines) -> None:
    web.reserve(ITEM_ID)
    store.client.script_flush()
    store.client.config_resetstat()
    assert told(web.reserve_at_once(ITEM_ID, buyer_ids=range(2, 32))) == {"reserved": 30}
    calls = store.calls()
    assert (calls["script|load"], calls["wait"]) == (1, 2)


def test_a_full_store_before_the_confirmation_gives_no_yes(store: OwnStore, web: RunningPipelines) -> None:
    reservation_id = passes.new_reservation_id(ITEM_ID)
    web.reserve(ITEM_ID, reservation_id=reservation_id)
    with store.full():
        # A repeated yes is only read, and the write that its WAIT would count from is refused.
        assert cause_of(web, reservation_id=reservation_id) is Cause.FULL
        assert cause_of(web, buyer_id=2) is Cause.FULL
    assert web.reserve(ITEM_ID, reservation_id=reservation_id).outcome is Outcome.ALREADY_RESERVED


def test_a_silent_replica_gives_no_yes_and_refusals_go_on(
    store: OwnStore, replica: OwnStore, web: RunningPipelines, settings: Settings
) -> None:
    settings.SECKILL_YES_WAIT_MS = 200
    web.reserve(ITEM_ID)
    with frozen(replica):
        answers = web.reserve_each(ITEM_ID, [(1, 1), (2, 1), (3, 1), (1, 2)])
        assert told([answer for _call, _id, answer in answers]) == {"limit_reached": 2, "replicas": 2}
    for (buyer_id, units), reservation_id, _answer in answers[1:3]:
        again = web.reserve(ITEM_ID, reservation_id=reservation_id, buyer_id=buyer_id, units=units)
        assert again.outcome is Outcome.ALREADY_RESERVED


def test_a_crowd_is_told_in_time_while_a_replica_is_missing(
    store: OwnStore, web: RunningPipelines, settings: Settings
) -> None:
    """Each batch takes as long as its WAIT, also where no call of it could become a yes."""
    web.reserve(ITEM_ID)
    store.client.config_set("min-replicas-to-write", "2")
    try:
        settings.SECKILL_YES_REPLICAS = 2
        began_s = time.monotonic()
        answers = told(web.reserve_at_once(ITEM_ID, buyer_ids=range(2, 602)))
        assert time.monotonic() - began_s < ANSWER_SECONDS
        assert set(answers) == {"replicas", "timeout"}
        assert answers["replicas"] >= one_pipeline.UNDER_WAY_MAX
    finally:
        store.client.config_set("min-replicas-to-write", "0")
    settings.SECKILL_YES_REPLICAS = 1
    wait_for_answer(web)
    # A rush waits for longer than that.
    assert told(web.reserve_at_once(ITEM_ID, buyer_ids=range(2, 602))) == {"reserved": 600}


def test_calls_that_wait_for_replicas_of_a_server_that_is_demoted_are_no_yes(
    store: OwnStore, web: RunningPipelines, settings: Settings
) -> None:
    reservation_id = passes.new_reservation_id(ITEM_ID)
    web.reserve(ITEM_ID, reservation_id=reservation_id)
    settings.SECKILL_YES_REPLICAS = 2
    with ThreadPoolExecutor(1) as pool:
        calls = pool.submit(web.reserve_at_once, ITEM_ID, buyer_ids=range(2, 5))
        wait_until(lambda: store.client.info("clients")["blocked_clients"] == 1, seconds_max=SECONDS_MAX)
        with demoted(store):
            assert told(calls.result()) == {"replicas": 3}
            # It can read what was held, and a person need not look for an error in the script.
            # The connection is closed after these replies.
            wait_until(lambda: cause_of(web, reservation_id=reservation_id) is Cause.READONLY, seconds_max=SECONDS_MAX)
            assert cause_of(web, reservation_id=reservation_id) is Cause.READONLY
