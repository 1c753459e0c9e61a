"""A small lab: buyers in two real processes, in a race or under a fault, on a store of its own and a real PostgreSQL.

Without the cluster, which takes seconds to start and has its own tests.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from multiprocessing import Pipe
from typing import Any, NamedTuple, cast
from unittest.mock import Mock

import pytest

from bench.lab import fault_runs
from bench.lab.buyers import buyer_pool
from bench.lab.buyers.buyer_pool import BuyerPool, running_pool
from bench.lab.buyers.buyer_process import BARRIER_SECONDS
from bench.lab.buyers.calls import BUSY, ERROR, NOT_SENT, Result, Setting
from bench.lab.fault_runs import RESTART_AFTER_ANSWERS, FaultRun, run_under_fault
from bench.lab.measures import Measures, measured
from bench.lab.series import unexpected_flaws
from bench.lab.servers.lab_servers import LabServers, running_lab_servers
from bench.lab.strategy_run import run_strategy
from bench.spawned_processes import BuyersFailed, SpawnedProcesses
from bench.strategies.all_strategies import ALL, BY_ID
from bench.strategies.base.strategy import Backend, Fault

SMALL = Setting(buyers=30, stock=12, processes=2, clients=2, seconds_max=20)
KINDS = [strategy for strategy in ALL if strategy.backend is not Backend.CLUSTER]
CAREFUL = [strategy.id for strategy in KINDS if strategy.correct or strategy.never_oversells]


class Lab(NamedTuple):
    servers: LabServers
    pool: BuyerPool

    def race(self, strategy: str, setting: Setting) -> Measures:
        kind = BY_ID[strategy]
        return run_strategy(kind, setting, pool=self.pool, servers=self.servers.of(kind))

    def under(self, fault: Fault, strategy: str) -> FaultRun:
        found = run_under_fault(BY_ID[strategy], fault, lab_servers=self.servers, pool=self.pool)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with (
        running_lab_servers(KINDS, database_url=os.environ["DATABASE_URL"]) as servers,
        running_pool(processes=SMALL.processes, clients=SMALL.clients) as pool,
    ):
        yield Lab(servers, pool)


@pytest.mark.parametrize("strategy", CAREFUL)
def test_in_a_race_of_processes_a_careful_strategy_has_no_unexpected_flaw(strategy: str, lab: Lab) -> None:
    for units_max in (1, 3):
        measures = lab.race(strategy, replace(SMALL, units_max=units_max, seed=7))
        assert measures.buyers == SMALL.buyers
        assert unexpected_flaws(BY_ID[strategy], measures) == []
        assert measures.sold + (measures.believed_left or 0) == SMALL.stock


def test_commands_and_round_trips_of_a_sale_are_counted_exactly(lab: Lab) -> None:
    # Enough units for all, so that no refusal changes the count.
    enough = replace(SMALL, buyers=10, stock=10)
    for strategy, round_trips, commands in (
        ("check_then_decr", 2.0, 2.0),  # GET, DECRBY
        ("decr_then_rollback", 1.0, 1.0),  # DECRBY
        ("all_in_lua", 1.0, 3.0),  # EVALSHA: GET, DECRBY
        ("lua_purchase", 1.0, 6.0),  # EVALSHA: SISMEMBER, GET, DECRBY, SADD, LPUSH
    ):
        measures = lab.race(strategy, enough)
        assert measures.sold == 10
        assert measures.round_trips_per_attempt == pytest.approx(round_trips, abs=0.3), strategy
        assert measures.commands_per_attempt == pytest.approx(commands), strategy
        assert 40 < (measures.bytes_per_attempt or 0) < 1_000
        assert (measures.server_cpu_us_per_attempt or 0) > 0


def test_the_ledger_sells_as_many_units_as_a_buyer_may_ask_for(lab: Lab) -> None:
    most = 999_999
    assert lab.race("ledger", replace(SMALL, buyers=1, stock=most, units_min=most, units_max=most)).sold == most


def test_buyers_who_are_not_served_in_time_are_counted_and_nothing_hangs(lab: Lab) -> None:
    measures = lab.race("ledger", replace(SMALL, buyers=2_000, stock=2_000, seconds_max=0.05))
    assert measures.not_sent > 0
    assert measures.sold + measures.not_sent == 2_000


@pytest.mark.parametrize(
    ("fault", "strategy", "oversold"),
    [
        (Fault.PAUSED, "set_nx_ex_lock", 1),
        # Its watchdog stops with its process: else a paused holder would keep its lease.
        (Fault.PAUSED, "redisson_lock", 1),
        (Fault.PAUSED, "ledger", 0),
        (Fault.CLOCK_AHEAD, "getset_lock", 1),
        (Fault.CLOCK_AHEAD, "set_nx_ex_lock", 0),
    ],
)
def test_a_stopped_buyer_oversells_what_a_lease_or_a_clock_protects_and_nothing_else(
    fault: Fault, strategy: str, oversold: int, lab: Lab
) -> None:
    found = lab.under(fault, strategy)
    assert (found.oversold, found.unexpected) == (oversold, False)
    if strategy == "ledger":
        # Its attempt is one command, so it cannot be stopped on the way.
        assert (found.unsold, found.stuck, list(found.stops)) == (0, False, [])
    if strategy == "set_nx_ex_lock":
        assert list(found.stops) == ["GET", "DECRBY", "DEL"]


@pytest.mark.parametrize(
    ("strategy", "unsold"),
    # The holder of a lock after its write, and a buyer before giving units back: those of a kind are alike.
    [("redisson_lock", 1), ("decrby_refund", 2)],
)
def test_a_buyer_who_is_killed_on_the_way_loses_units_as_expected(strategy: str, unsold: int, lab: Lab) -> None:
    killed = lab.under(Fault.KILLED, strategy)
    assert (killed.oversold, killed.unsold, killed.stuck, killed.unexpected) == (0, unsold, False, False)


def test_a_unit_lost_under_a_fault_that_a_correct_strategy_should_survive_is_unexpected(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BY_ID["set_nx_ex_lock"], "breaks_under", frozenset())
    killed = lab.under(Fault.KILLED, "set_nx_ex_lock")
    assert (killed.unsold, killed.unexpected) == (1, True)


def test_a_killed_holder_of_a_lock_without_expiry_leaves_the_sale_stuck(lab: Lab) -> None:
    killed = lab.under(Fault.KILLED, "setnx_lock_plain")
    assert (killed.stuck, killed.unexpected) == (True, False)


def test_units_left_by_buyers_who_were_not_served_in_time_or_lost_with_the_store_are_no_surprise(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = partial(measured, strategy="ledger", stock=1, seed=1, counters=None, believed_left=0, stuck=False)
    for fault, others, is_unexpected in (
        (Fault.STORE_RESTARTED, [], True),
        (Fault.STORE_RESTARTED, [NOT_SENT], False),
        (Fault.STORE_RESTARTED, [BUSY], False),
        (Fault.STORE_LOST, [], False),
    ):
        measures = make(results=[Result(1, 1, ERROR), *[Result(2, 1, answer) for answer in others]])
        monkeypatch.setattr(fault_runs, "run_strategy", lambda *_, measures=measures, **__: measures)
        found = lab.under(fault, "ledger")
        assert (found.unsold, found.unexpected) == (1, is_unexpected), (fault, others)


def test_a_sale_whose_stopped_buyer_dies_or_is_silent_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault_runs, "MESSAGE_SECONDS_MAX", 0.1)
    ours, theirs = Pipe()
    with pytest.raises(BuyersFailed, match="said nothing"):
        fault_runs.next_message(ours)
    theirs.close()
    with pytest.raises(BuyersFailed, match="died"):
        fault_runs.next_message(ours)


def test_a_run_whose_process_of_buyers_dies_or_is_silent_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buyer_pool, "LATE_SECONDS", 0.1)
    ours, theirs = Pipe()
    pool, tasks = BuyerPool.__new__(BuyerPool), cast(Any, ["task"])
    pool.progress, pool._barrier = Mock(), Mock(n_waiting=0, parties=2)
    pool._processes = SpawnedProcesses(print, [])
    pool._processes.pipes, pool._processes._processes = [ours], [Mock(is_alive=lambda: False)]
    began_s = time.monotonic()
    with pytest.raises(BuyersFailed, match="did not reach the barrier"):
        pool.prepare(tasks)
    assert time.monotonic() - began_s < BARRIER_SECONDS / 2
    assert theirs.recv() == "task"
    with pytest.raises(BuyersFailed, match="did not answer"):
        pool.results(seconds_max=0.0)
    theirs.close()
    with pytest.raises(BuyersFailed, match="died"):
        pool.results(seconds_max=0.0)


def test_the_ledger_loses_nothing_in_a_restart_and_stops_where_the_store_lost_its_data(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That `all_in_lua` invents stock then, the quick presets show."""
    size = {"processes": SMALL.processes, "clients": SMALL.clients}
    whole, lost = (
        replace(setting, **size) for setting in (fault_runs.FAULT_SETTING, replace(fault_runs.LOST_SETTING, buyers=200))
    )
    monkeypatch.setattr(fault_runs, "FAULT_SETTING", whole)
    monkeypatch.setattr(fault_runs, "LOST_SETTING", lost)
    restarted = lab.under(Fault.STORE_RESTARTED, "ledger")
    assert (restarted.oversold, restarted.unsold, restarted.stuck) == (0, 0, False)
    assert RESTART_AFTER_ANSWERS <= (restarted.answers_before or 0) <= whole.calls_before_fault
    stopped = lab.under(Fault.STORE_LOST, "ledger")
    assert stopped.oversold == 0
    assert lost.stock <= (stopped.answers_before or 0) <= lost.calls_before_fault
