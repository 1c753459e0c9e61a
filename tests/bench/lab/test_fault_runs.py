"""Faults: a buyer is stopped between two commands, or the store restarts during a sale."""

from collections.abc import Iterator
from multiprocessing import Pipe

import pytest

from bench.lab import fault_runs
from bench.lab.buyers.buyer_pool import BuyerPool, BuyersFailed, running_pool
from bench.lab.buyers.calls import ERROR, NOT_SENT, Result
from bench.lab.fault_runs import FAULT_SETTING, LOST_SETTING, RESTART_AFTER_ANSWERS, run_under_fault
from bench.lab.measures import measured
from bench.lab.servers.lab_servers import LabServers
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Fault


@pytest.fixture(scope="module")
def full_pool() -> Iterator[BuyerPool]:
    with running_pool(processes=FAULT_SETTING.processes, clients=FAULT_SETTING.clients) as gathered:
        yield gathered


def test_a_paused_buyer_oversells_what_a_lease_protects_and_not_the_ledger(
    lab_servers: LabServers, pool: BuyerPool
) -> None:
    lock = run_under_fault(BY_ID["set_nx_ex_lock"], Fault.PAUSED, lab_servers=lab_servers, pool=pool)
    assert lock is not None
    assert (lock.oversold, lock.unexpected) == (1, False)
    assert list(lock.stops) == ["GET", "DECRBY", "DEL"]
    ledger = run_under_fault(BY_ID["ledger"], Fault.PAUSED, lab_servers=lab_servers, pool=pool)
    assert ledger is not None
    assert (ledger.oversold, ledger.unsold, ledger.stuck, list(ledger.stops)) == (0, 0, False, [])


def test_a_rival_whose_clock_is_ahead_takes_the_lock_of_a_live_holder_each_time(
    lab_servers: LabServers, pool: BuyerPool
) -> None:
    for strategy, oversold in (("getset_lock", 1), ("set_nx_ex_lock", 0)):
        ahead = run_under_fault(BY_ID[strategy], Fault.CLOCK_AHEAD, lab_servers=lab_servers, pool=pool)
        assert ahead is not None
        assert (ahead.oversold, ahead.unexpected) == (oversold, False)


def test_the_paused_holder_of_a_lock_without_tries_oversells_each_time(
    lab_servers: LabServers, pool: BuyerPool
) -> None:
    paused = run_under_fault(BY_ID["setnx_lock_expire"], Fault.PAUSED, lab_servers=lab_servers, pool=pool)
    assert paused is not None
    assert paused.oversold == 1


def test_a_watchdog_stops_with_its_process(lab_servers: LabServers, pool: BuyerPool) -> None:
    """Else a paused holder would keep its lease, and a killed one for ever."""
    paused = run_under_fault(BY_ID["redisson_lock"], Fault.PAUSED, lab_servers=lab_servers, pool=pool)
    assert paused is not None
    assert paused.oversold == 1
    killed = run_under_fault(BY_ID["redisson_lock"], Fault.KILLED, lab_servers=lab_servers, pool=pool)
    assert killed is not None
    assert (killed.oversold, killed.stuck) == (0, False)


def test_a_killed_holder_of_a_lock_without_expiry_leaves_the_sale_stuck(
    lab_servers: LabServers, pool: BuyerPool
) -> None:
    fault_run = run_under_fault(BY_ID["setnx_lock_plain"], Fault.KILLED, lab_servers=lab_servers, pool=pool)
    assert fault_run is not None
    assert fault_run.stuck
    assert not fault_run.unexpected


@pytest.mark.parametrize(
    "strategy", ["set_nx_ex_lock", "getset_lock", "lua_lock", "redisson_lock", "redisson_lock_fenced"]
)
def test_a_holder_who_is_killed_after_its_write_loses_a_unit_as_expected(
    lab_servers: LabServers, pool: BuyerPool, strategy: str
) -> None:
    killed = run_under_fault(BY_ID[strategy], Fault.KILLED, lab_servers=lab_servers, pool=pool)
    assert killed is not None
    assert (killed.oversold, killed.unsold, killed.stuck, killed.unexpected) == (0, 1, False, False)
    assert Fault.KILLED in BY_ID[strategy].breaks_under


def test_a_unit_lost_under_a_fault_that_a_correct_strategy_should_survive_is_unexpected(
    lab_servers: LabServers, pool: BuyerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BY_ID["set_nx_ex_lock"], "breaks_under", frozenset())
    killed = run_under_fault(BY_ID["set_nx_ex_lock"], Fault.KILLED, lab_servers=lab_servers, pool=pool)
    assert killed is not None
    assert (killed.unsold, killed.unexpected) == (1, True)


@pytest.mark.parametrize(
    ("fault", "not_sent", "is_unexpected"),
    [(Fault.STORE_RESTARTED, 0, True), (Fault.STORE_RESTARTED, 1, False), (Fault.STORE_LOST, 0, False)],
)
def test_units_left_by_buyers_who_were_not_served_in_time_or_lost_with_the_store_are_no_surprise(
    lab_servers: LabServers,
    pool: BuyerPool,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    not_sent: int,
    is_unexpected: bool,
) -> None:
    results = [Result(1, 1, ERROR), *[Result(2, 1, NOT_SENT)] * not_sent]
    measures = measured(
        strategy="ledger", stock=1, seed=1, results=results, counters=None, believed_left=0, stuck=False
    )
    monkeypatch.setattr(fault_runs, "run_strategy", lambda *args, **options: measures)
    ran = run_under_fault(BY_ID["ledger"], fault, lab_servers=lab_servers, pool=pool)
    assert ran is not None
    assert (ran.unsold, ran.unexpected) == (1, is_unexpected)


@pytest.mark.parametrize("strategy", ["decr_then_rollback", "overflow_check", "decrby_refund"])
def test_a_buyer_who_is_killed_before_giving_units_back_leaves_no_unit_for_others(
    lab_servers: LabServers, pool: BuyerPool, strategy: str
) -> None:
    killed = run_under_fault(BY_ID[strategy], Fault.KILLED, lab_servers=lab_servers, pool=pool)
    assert killed is not None
    assert "INCRBY" in killed.stops
    assert (killed.oversold, killed.unsold) == (0, 2)
    assert Fault.KILLED in BY_ID[strategy].breaks_under


@pytest.mark.parametrize(("is_alive", "wrong"), [(False, "died"), (True, "said nothing")])
def test_a_sale_whose_stopped_buyer_dies_or_is_silent_has_no_result(
    monkeypatch: pytest.MonkeyPatch, is_alive: bool, wrong: str
) -> None:
    monkeypatch.setattr(fault_runs, "MESSAGE_SECONDS_MAX", 0.1)
    ours, theirs = Pipe()
    if not is_alive:
        theirs.close()
    with pytest.raises(BuyersFailed, match=wrong):
        fault_runs.next_message(ours)


def test_the_ledger_loses_nothing_when_the_store_is_killed_and_comes_back(
    lab_servers: LabServers, full_pool: BuyerPool
) -> None:
    fault_run = run_under_fault(BY_ID["ledger"], Fault.STORE_RESTARTED, lab_servers=lab_servers, pool=full_pool)
    assert fault_run is not None
    assert (fault_run.oversold, fault_run.unsold, fault_run.stuck) == (0, 0, False)
    assert fault_run.answers_before is not None
    assert RESTART_AFTER_ANSWERS <= fault_run.answers_before <= FAULT_SETTING.calls_before_fault


def test_a_lost_store_makes_all_in_lua_invent_stock_and_the_ledger_stop(
    lab_servers: LabServers, full_pool: BuyerPool
) -> None:
    invented = run_under_fault(BY_ID["all_in_lua"], Fault.STORE_LOST, lab_servers=lab_servers, pool=full_pool)
    assert invented is not None
    assert invented.oversold == 10
    assert invented.answers_before is not None
    assert LOST_SETTING.stock <= invented.answers_before <= LOST_SETTING.calls_before_fault
    stopped = run_under_fault(BY_ID["ledger"], Fault.STORE_LOST, lab_servers=lab_servers, pool=full_pool)
    assert stopped is not None
    assert stopped.oversold == 0
