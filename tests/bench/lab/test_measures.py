"""What is counted as oversold, unsold and falsely refused."""

from dataclasses import replace

import pytest

from bench.lab.buyers.calls import REFUSED, SOLD, Result, Setting, calls_of
from bench.lab.fault_runs import is_unexpected
from bench.lab.measures import false_refusals, measured, unsold
from bench.lab.series import in_words, unexpected_flaws
from bench.percentiles import percentile
from bench.strategies.all_strategies import ALL, BY_ID
from bench.strategies.atomic.ledger import Ledger
from bench.strategies.base.strategy import Fault
from bench.strategies.counters.get_set import GetSet


def result(answer: str, units: int, started_s: float, ended_s: float) -> Result:
    return Result(buyer=1, units=units, answer=answer, started_s=started_s, ended_s=ended_s)


def test_units_sold_beyond_the_stock_are_oversold_and_unexpected_only_of_careful_strategies() -> None:
    results = [result(SOLD, 1, 0.0, 1.0), result(SOLD, 2, 0.5, 1.5)]
    measures = measured(strategy="any", stock=2, seed=1, results=results, counters=None, believed_left=0, stuck=False)
    assert (measures.sold, measures.oversold, measures.unsold) == (3, 1, 0)
    assert measures.attempts_per_second == pytest.approx(2 / 1.5)
    assert "oversold by 1 (3 of 2)" in in_words(measures)
    assert unexpected_flaws(Ledger, measures) == ["oversold"]
    assert unexpected_flaws(GetSet, measures) == []


def test_units_are_unsold_only_if_a_buyer_without_any_asked_for_so_many() -> None:
    sold = result(SOLD, 3, 0.0, 1.0)
    assert unsold([sold, result(REFUSED, 3, 1.0, 2.0)], stock=5) == 0
    assert unsold([sold, result(REFUSED, 2, 1.0, 2.0)], stock=5) == 2
    assert unsold([sold, *(result(REFUSED, units, 1.0, 2.0) for units in (3, 2))], stock=5) == 2
    assert unsold([sold], stock=5) == 0


def test_a_refusal_is_false_only_if_no_order_of_events_explains_it() -> None:
    refusal = result(REFUSED, 1, 2.0, 3.0)
    assert false_refusals([refusal, result(SOLD, 1, 4.0, 5.0)], stock=1) == 1
    assert false_refusals([refusal, result(SOLD, 1, 2.5, 5.0)], stock=1) == 0
    assert false_refusals([refusal, result(SOLD, 1, 0.0, 1.0)], stock=1) == 0


def test_the_seed_decides_how_much_each_buyer_asks_for() -> None:
    setting = Setting(buyers=50, stock=10, units_max=3, seed=4)
    assert calls_of(setting) == calls_of(setting)
    assert calls_of(setting) != calls_of(Setting(buyers=50, stock=10, units_max=3, seed=5))
    assert {call.units for call in calls_of(setting)} == {1, 2, 3}
    assert sorted(call.buyer for call in calls_of(setting)) == list(range(1, 51))


def test_percentiles_are_values_that_occurred() -> None:
    hundred = [float(number) for number in range(1, 101)]
    assert (percentile(hundred, 0.5), percentile(hundred, 0.99), percentile([7.0], 0.99)) == (50.0, 99.0, 7.0)
    assert percentile([1.0, 2.0, 3.0], 0.5) == 2.0
    assert percentile([], 0.5) == 0.0


def test_the_percentiles_of_a_run_are_of_all_its_calls_in_whatever_order_they_ended() -> None:
    results = [result(SOLD, 1, 0.0, number / 1000) for number in range(100, 0, -1)]
    measures = measured(strategy="any", stock=100, seed=1, results=results, counters=None, believed_left=0, stuck=False)
    assert (measures.p50_ms, measures.p95_ms, measures.p99_ms) == pytest.approx((50.0, 95.0, 99.0))


def test_what_is_a_flaw_depends_on_what_a_strategy_promises() -> None:
    results = [result(SOLD, 1, 0.0, 1.0)]
    measures = measured(strategy="any", stock=1, seed=1, results=results, counters=None, believed_left=0, stuck=False)
    assert unexpected_flaws(BY_ID["pg_skip_locked"], measures) == []
    # Where buyers want several units, those of a strategy that skips locked rows may be refused.
    refusing = replace(measures, false_refusals=1, unsold=1, units_max=3)
    assert unexpected_flaws(BY_ID["pg_skip_locked"], refusing) == []
    for strategy, units_max in (("pg_row_lock", 3), ("pg_skip_locked", 1)):
        flaws = unexpected_flaws(BY_ID[strategy], replace(refusing, units_max=units_max))
        assert flaws == ["false refusals", "unsold"], strategy
    assert unexpected_flaws(Ledger, replace(measures, stuck=True, errors=1)) == ["stuck", "errors"]
    # Few are not none.
    for busy, words in ((1, "less than 1% of the buyers told busy"), (10, "2% of the buyers told busy")):
        assert words in in_words(replace(measures, buyers=505, busy=busy))
    # Faults that it is expected to survive excuse nothing, but a store that lost its data has nothing left to sell.
    assert is_unexpected(Ledger, Fault.PAUSED, oversold=1, unsold=0, stuck=False)
    assert is_unexpected(Ledger, Fault.KILLED, oversold=0, unsold=1, stuck=False)
    assert is_unexpected(Ledger, Fault.KILLED, oversold=0, unsold=0, stuck=True)
    assert not is_unexpected(Ledger, Fault.STORE_LOST, oversold=0, unsold=1, stuck=True)
    # Of a flawed one nothing is expected.
    assert not is_unexpected(GetSet, Fault.PAUSED, oversold=1, unsold=1, stuck=True)
    careful = next(kind for kind in ALL if kind.never_oversells and not kind.correct)
    assert unexpected_flaws(careful, replace(measures, oversold=1)) == ["oversold"]


def test_every_lock_and_every_way_of_giving_units_back_may_lose_units_to_a_killed_buyer() -> None:
    """One of each kind is killed in test_lab_runs.py."""
    locks = {kind for kind in ALL if kind.id.startswith(("set_nx", "setnx", "getset", "lua_lock", "redisson"))}
    giving_back = {BY_ID[name] for name in ("decr_then_rollback", "overflow_check", "decrby_refund")}
    assert {kind.id for kind in ALL if Fault.KILLED in kind.breaks_under} == {kind.id for kind in locks | giving_back}
