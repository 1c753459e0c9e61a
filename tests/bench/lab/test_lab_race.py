"""Buyers in real processes: strategies that should never oversell do not, and the servers' counters are read right."""

from dataclasses import replace

import pytest

from bench.lab.buyers.buyer_pool import BuyerPool
from bench.lab.buyers.calls import Setting
from bench.lab.series import unexpected_flaws
from bench.lab.servers.lab_servers import LabServers
from bench.lab.strategy_run import run_strategy
from bench.strategies.all_strategies import ALL, BY_ID
from bench.strategies.base.strategy import Backend, Strategy
from tests.bench.lab.conftest import SMALL

CAREFUL = [
    strategy
    for strategy in ALL
    if (strategy.correct or strategy.never_oversells) and strategy.backend is not Backend.CLUSTER
]
# Enough units for all, so that no refusal changes the count.
ENOUGH = replace(SMALL, buyers=10, stock=10)


@pytest.mark.parametrize("strategy", CAREFUL, ids=lambda strategy: strategy.id)
@pytest.mark.parametrize("units_max", [1, 3])
def test_in_a_race_of_processes_a_careful_strategy_has_no_unexpected_flaw(
    strategy: type[Strategy], units_max: int, lab_servers: LabServers, pool: BuyerPool
) -> None:
    setting = replace(SMALL, units_max=units_max, seed=7)
    measures = run_strategy(strategy, setting, pool=pool, servers=lab_servers.of(strategy))
    assert measures.buyers == SMALL.buyers
    assert unexpected_flaws(strategy, measures) == []
    assert measures.sold + (measures.believed_left or 0) == SMALL.stock


def test_false_refusals_are_expected_of_skip_locked_if_buyers_ask_for_several_units(
    lab_servers: LabServers, pool: BuyerPool
) -> None:
    setting = replace(SMALL, units_max=3)
    measures = run_strategy(
        BY_ID["pg_skip_locked"], setting, pool=pool, servers=lab_servers.of(BY_ID["pg_skip_locked"])
    )
    refusing = replace(measures, false_refusals=1)
    assert unexpected_flaws(BY_ID["pg_skip_locked"], refusing) == []
    assert unexpected_flaws(BY_ID["pg_row_lock"], refusing) == ["false refusals"]
    assert unexpected_flaws(BY_ID["pg_skip_locked"], replace(refusing, units_max=1)) == ["false refusals"]


@pytest.mark.parametrize(
    ("strategy_id", "round_trips", "commands"),
    [
        ("check_then_decr", 2.0, 2.0),  # GET, DECRBY
        ("decr_then_rollback", 1.0, 1.0),  # DECRBY
        ("all_in_lua", 1.0, 3.0),  # EVALSHA: GET, DECRBY
        ("lua_purchase", 1.0, 6.0),  # EVALSHA: SISMEMBER, GET, DECRBY, SADD, LPUSH
    ],
)
def test_commands_and_round_trips_of_a_sale_are_counted_exactly(
    strategy_id: str, round_trips: float, commands: float, lab_servers: LabServers, pool: BuyerPool
) -> None:
    kind = BY_ID[strategy_id]
    measures = run_strategy(kind, ENOUGH, pool=pool, servers=lab_servers.of(kind))
    assert measures.sold == 10
    assert measures.round_trips_per_attempt == pytest.approx(round_trips, abs=0.3)
    assert measures.commands_per_attempt == pytest.approx(commands)
    assert measures.bytes_per_attempt is not None
    assert 40 < measures.bytes_per_attempt < 1_000
    assert measures.server_cpu_us_per_attempt is not None
    assert measures.server_cpu_us_per_attempt > 0


def test_buyers_who_are_not_served_in_time_are_counted_and_nothing_hangs(
    lab_servers: LabServers, pool: BuyerPool
) -> None:
    kind = BY_ID["ledger"]
    setting = Setting(buyers=2_000, stock=2_000, processes=2, clients=2, seconds_max=0.05)
    measures = run_strategy(kind, setting, pool=pool, servers=lab_servers.of(kind))
    assert measures.not_sent > 0
    assert measures.sold + measures.not_sent == 2_000
