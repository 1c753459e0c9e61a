"""The pipeline over one real server: what is told when it is silent, gone, full, demoted or without the script."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from unittest import mock

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from seckill import ledger
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.reservation import ACCEPTED
from seckill.store.client import StoreUnreachable
from seckill.store.failures import Cause
from seckill.store.pipeline import pipeline as one_pipeline
from shop.local.ports import free_port
from tests.own_store import OwnStore
from tests.seckill.store.items import ANSWER_SECONDS
from tests.steps.pipelines import (
    ITEM_ID,
    SECONDS_MAX,
    TERMS,
    FaultyProxy,
    RunningPipelines,
    cause_of,
    frozen,
    running_at,
    through_proxy,
    told,
    wait_for_answer,
)
from tests.steps.store import StoredItem

Answer = TypeVar("Answer")


def test_calls_of_one_turn_go_out_together_and_are_told_what_the_ledger_says(
    store: OwnStore, web_on_any_loop: RunningPipelines
) -> None:
    answers = web_on_any_loop.reserve_at_once(ITEM_ID, buyer_ids=range(1, 101))
    assert told(answers) == {"reserved": 50, "held_by_others": 50}
    assert len(store.client.client_list()) <= 3, "more than one connection of the loop"
    again = web_on_any_loop.reserve(ITEM_ID, buyer_id=1)
    assert again.outcome is Outcome.HELD_BY_OTHERS
    counters = ledger.read(item_id=ITEM_ID)
    assert counters is not None
    assert (counters.left, counters.held, counters.reservations) == (0, 50, 50)


def test_a_script_that_is_missing_is_loaded_once_for_all_calls(store: OwnStore, web: RunningPipelines) -> None:
    web.reserve(ITEM_ID)
    for _ in range(3):
        store.client.script_flush()
        store.client.config_resetstat()
        answers = web.reserve_at_once(ITEM_ID, buyer_ids=range(100, 110))
        assert "script_error" not in told(answers)
        assert store.calls()["script|load"] == 1
    assert ledger.read(item_id=ITEM_ID).reservations == 11  # type: ignore[union-attr]


def test_a_silent_store_costs_one_time_limit_and_then_nothing(
    store: OwnStore, web_on_any_loop: RunningPipelines
) -> None:
    web_on_any_loop.reserve(ITEM_ID)
    with frozen(store):
        began_s = time.monotonic()
        answers = web_on_any_loop.reserve_at_once(ITEM_ID, buyer_ids=range(10, 20))
        assert told(answers) == {"timeout": 10}
        assert time.monotonic() - began_s < ANSWER_SECONDS
        began_s = time.monotonic()
        answers = web_on_any_loop.reserve_at_once(ITEM_ID, buyer_ids=range(20, 40))
        # One of them may have tried the server.
        assert told(answers) == {"timeout": 20}
        assert time.monotonic() - began_s < ANSWER_SECONDS
    wait_for_answer(web_on_any_loop)
    counters = ledger.read(item_id=ITEM_ID)
    assert counters is not None
    # Calls that were given up may have taken effect, and are counted once.
    assert counters.left is not None
    assert counters.left + counters.held == 50


def test_a_pause_below_the_limit_fails_nobody(store: OwnStore, web: RunningPipelines) -> None:
    web.reserve(ITEM_ID)
    with frozen(store):
        timer = threading.Timer(0.4, lambda: os.kill(store.process.pid or 0, signal.SIGCONT))
        timer.start()
        answers = web.reserve_at_once(ITEM_ID, buyer_ids=range(10, 20))
        timer.join()
    assert told(answers) == {"reserved": 10}


def test_a_killed_store_is_unreachable_at_once_and_used_again_when_it_is_back(
    store: OwnStore, web: RunningPipelines
) -> None:
    web.reserve(ITEM_ID)
    store.kill()
    began_s = time.monotonic()
    for _ in range(5):
        assert cause_of(web) is Cause.UNREACHABLE
    assert time.monotonic() - began_s < ANSWER_SECONDS
    store.start()
    wait_for_answer(web)


def test_calls_under_way_are_told_when_the_connection_is_lost_and_the_next_get_another(
    store: OwnStore, web: RunningPipelines
) -> None:
    web.reserve(ITEM_ID)
    for _ in range(3):
        store.client.client_kill_filter(_type="normal", skipme=True)
        answers = web.reserve_at_once(ITEM_ID, buyer_ids=range(10, 20))
        assert set(told(answers)) <= {"reserved", "unreachable", "limit_reached"}
    wait_for_answer(web)


def test_no_call_waits_for_ever(store: OwnStore, web: RunningPipelines) -> None:
    with mock.patch.object(one_pipeline, "WAITING_MAX", 20):
        answers = web.reserve_at_once(ITEM_ID, buyer_ids=range(1, 51))
    # The rest was refused before anything was sent.
    assert told(answers) == {"reserved": 20, "timeout": 30}
    assert ledger.read(item_id=ITEM_ID).reservations == 20  # type: ignore[union-attr]


def test_a_full_store_and_a_wrong_type_fail_one_call_and_keep_the_connection(
    store: OwnStore, web: RunningPipelines
) -> None:
    web.reserve(ITEM_ID)
    connections = {client["id"] for client in store.client.client_list()}
    with store.full():
        assert cause_of(web, buyer_id=2) is Cause.FULL
    store.client.set("seckill:{8}:item", "not a hash")
    with pytest.raises(StoreUnreachable) as raised:
        web.reserve(8)
    assert raised.value.cause is Cause.SCRIPT_ERROR
    assert web.reserve(ITEM_ID, buyer_id=3).outcome is Outcome.RESERVED
    assert {client["id"] for client in store.client.client_list()} == connections


def test_a_demoted_server_is_left(store: OwnStore, web: RunningPipelines) -> None:
    web.reserve(ITEM_ID)
    connections = {client["id"] for client in store.client.client_list()}
    store.client.replicaof("127.0.0.1", free_port())
    assert cause_of(web, buyer_id=2) is Cause.READONLY
    store.client.replicaof("NO", "ONE")
    ledger.publish(item_id=9, terms=TERMS)
    assert web.reserve(9).outcome is Outcome.RESERVED
    assert {client["id"] for client in store.client.client_list()} != connections


def test_without_a_server_calls_are_told_at_once() -> None:
    with RunningPipelines() as web, running_at(f"redis://127.0.0.1:{free_port()}/0"):
        began_s = time.monotonic()
        assert [cause_of(web) for _ in range(10)] == [Cause.UNREACHABLE] * 10
        assert time.monotonic() - began_s < ANSWER_SECONDS


def test_a_wrong_password_is_said(store: OwnStore, web: RunningPipelines) -> None:
    with running_at(store.url.replace("of-a-test", "another")):
        assert [cause_of(web) for _ in range(5)] == [Cause.PASSWORD] * 5


def test_a_connection_cut_after_any_byte_of_the_replies_tells_no_wrong_answer(
    store: OwnStore, web: RunningPipelines
) -> None:
    """Three buyers ask at once, and the replies are cut after each number of bytes that they have."""
    with through_proxy(store) as proxy, mock.patch.object(one_pipeline, "BACKOFF_SECONDS", 0.001):
        told_yes: set[int] = set()
        web.reserve(ITEM_ID, buyer_id=10_000)
        buyer_id, cuts = 1, 0
        for reply_bytes in range(0, 1_000):
            proxy.reply_bytes = reply_bytes
            asked = range(buyer_id, buyer_id + 3)
            answers = web.reserve_at_once(ITEM_ID, buyer_ids=asked)
            buyer_id += 3
            was_cut = any(isinstance(answer, StoreUnreachable) for answer in answers)
            cuts += was_cut
            told_yes |= {
                buyer
                for buyer, answer in zip(asked, answers, strict=True)
                if not isinstance(answer, BaseException) and answer.outcome is Outcome.RESERVED
            }
            proxy.reply_bytes = None
            # Each one who was told yes has the units, and each of the three was counted at most once.
            held = {int(name) for name in store.client.hgetall(f"seckill:{{{ITEM_ID}}}:buyers")}
            assert told_yes <= held
            if not was_cut:
                break
            # The next connection is opened after the backoff.
            wait_for_answer(web)
            store.client.hset(f"seckill:{{{ITEM_ID}}}:item", "left", 50)
        assert cuts > 100


def test_a_call_whose_answer_was_lost_hears_its_yes_when_it_is_repeated(store: OwnStore, web: RunningPipelines) -> None:
    """It took the last unit, so any other call hears that none are left."""
    ledger.publish(item_id=8, terms=replace(TERMS, quantity=1))
    reservation_id = passes.new_reservation_id(8)
    with through_proxy(store) as proxy:
        web.reserve(ITEM_ID)
        proxy.reply_bytes = 0
        with pytest.raises(StoreUnreachable) as raised:
            web.reserve(8, reservation_id=reservation_id)
        assert raised.value.cause is Cause.UNREACHABLE
        assert web.reserve(8, buyer_id=2).outcome is Outcome.HELD_BY_OTHERS
        assert web.reserve(8, reservation_id=reservation_id).outcome is Outcome.ALREADY_RESERVED


# What happens in a sale: so many calls at once of buyers 1 to 4, each for 1 to 3 units, or a fault.
STEPS = st.lists(
    st.one_of(
        st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=8),
        st.sampled_from(["script lost", "connections killed", "cut after 40 bytes", "cut after 90 bytes"]),
    ),
    min_size=1,
    max_size=12,
)


@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_each_answer_is_that_of_the_ledger_in_any_order_of_calls_and_faults(
    steps: list[list[tuple[int, int]] | str], cut_store: tuple[OwnStore, FaultyProxy], web: RunningPipelines
) -> None:
    store, proxy = cut_store
    store.client.flushall()
    proxy.reply_bytes = None
    terms = replace(TERMS, quantity=12, per_buyer_max=4)
    until_answered(partial(ledger.publish, item_id=ITEM_ID, terms=terms))
    for step in steps:
        if step == "script lost":
            store.client.script_flush()
        elif step == "connections killed":
            store.client.client_kill_filter(_type="normal", skipme=True)
        elif isinstance(step, str):
            proxy.reply_bytes = int(step.split(" ")[2])
        else:
            for (buyer_id, units), reservation_id, answer in web.reserve_each(ITEM_ID, step):
                same: dict[str, Any] = {"reservation_id": reservation_id, "buyer_id": buyer_id, "units": units}
                again = until_answered(partial(ledger.reserve, item_id=ITEM_ID, **same))
                if isinstance(answer, BaseException):
                    assert isinstance(answer, StoreUnreachable)
                elif answer.outcome in ACCEPTED:
                    assert again.outcome is Outcome.ALREADY_RESERVED
                    assert (again.units, again.deadline_ms) == (units, answer.deadline_ms)
                else:
                    # Units only become fewer here, so a refusal stays one.
                    assert again.outcome not in ACCEPTED
    StoredItem(store.client, ITEM_ID).check_invariants()


def until_answered(ask: Callable[[], Answer]) -> Answer:
    """The answer to a thread, whose own connections are cut too. The breaker may be open for a while."""
    give_up_s = time.monotonic() + SECONDS_MAX
    while time.monotonic() < give_up_s:
        with suppress(StoreUnreachable):
            return ask()
        time.sleep(0.02)
    raise AssertionError("the store did not answer")


@pytest.fixture
def cut_store(store: OwnStore) -> Iterator[tuple[OwnStore, FaultyProxy]]:
    with through_proxy(store) as proxy:
        yield store, proxy
