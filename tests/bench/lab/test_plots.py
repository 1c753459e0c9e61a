"""The picture that compares the strategies: which colour a strategy gets, and why."""

from dataclasses import replace

from bench.lab.buyers.calls import SOLD, Result, Setting
from bench.lab.fault_runs import FaultRun
from bench.lab.measures import measured
from bench.lab.plots import AMBER, GREEN, PALE, RED, rating_of
from bench.lab.series import Run, judge
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Fault

GOOD = FaultRun("lua_purchase", Fault.STORE_RESTARTED, oversold=0, unsold=0, stuck=False, errors=16)


def run_of(strategy_id: str, *, oversold: int = 0, unsold: int = 0) -> Run:
    results = [Result(buyer=1, units=1, answer=SOLD, ended_s=1.0)]
    measures = measured(
        strategy=strategy_id, stock=1, seed=1, results=results, counters=None, believed_left=0, stuck=False
    )
    measures = replace(measures, oversold=oversold, unsold=unsold)
    return Run(Setting(buyers=1, stock=1), measures, judge(BY_ID[strategy_id], measures))


def test_a_strategy_is_dark_green_only_if_nothing_was_wrong_under_any_fault() -> None:
    assert rating_of(run_of("lua_purchase"), [GOOD]) == (GREEN, "sold exactly the stock")
    for fault_run, why in (
        (replace(GOOD, unsold=2), "2 units unsold when the store restarted"),
        (replace(GOOD, unsold=1, fault=Fault.KILLED), "1 unit unsold when a buyer was killed"),
        (replace(GOOD, stuck=True), "stuck when the store restarted"),
        (replace(GOOD, oversold=3, fault=Fault.STORE_LOST), "oversold when the store lost its data"),
    ):
        assert rating_of(run_of("lua_purchase"), [GOOD, fault_run]) == (PALE, why)
    # A store that lost its data may leave units unsold.
    lost = replace(GOOD, fault=Fault.STORE_LOST, unsold=10, stuck=True)
    assert rating_of(run_of("lua_purchase"), [lost])[0] == GREEN
    # The faults of another strategy do not count, but a fault that was not tried is named.
    not_tried = "sold exactly the stock; its servers were not restarted"
    assert rating_of(run_of("ledger"), [replace(GOOD, unsold=2)]) == (GREEN, not_tried)


def test_flaws_without_a_fault_come_first_and_a_flawed_strategy_is_never_dark_green() -> None:
    assert rating_of(run_of("get_set", oversold=5), [GOOD])[0] == RED
    assert rating_of(run_of("watch_multi", unsold=5), [GOOD])[0] == AMBER
    assert rating_of(run_of("decr_then_rollback"), [])[0] == PALE
