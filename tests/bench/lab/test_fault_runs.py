"""Faults: what happens to whom when a buyer is stopped between two commands, or the store goes away."""

from collections.abc import Iterator

import pytest

from bench.lab.buyers.buyer_pool import Crowd, crowd_of
from bench.lab.fault_runs import CROWD, suffer
from bench.lab.servers.lab_servers import Sites
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Fault


@pytest.fixture(scope="module")
def full_crowd() -> Iterator[Crowd]:
    with crowd_of(processes=CROWD.processes, clients=CROWD.clients) as gathered:
        yield gathered


def test_a_paused_buyer_oversells_what_a_lease_protects_and_not_the_ledger(sites: Sites, crowd: Crowd) -> None:
    lock = suffer(BY_ID["set_nx_ex_lock"], Fault.PAUSED, sites=sites, crowd=crowd)
    assert lock is not None
    assert (lock.oversold, lock.misbehaved) == (1, False)
    assert list(lock.stops) == ["GET", "DECRBY", "DEL"]
    ledger = suffer(BY_ID["ledger"], Fault.PAUSED, sites=sites, crowd=crowd)
    assert ledger is not None
    assert (ledger.oversold, ledger.unsold, ledger.stuck, list(ledger.stops)) == (0, 0, False, [])


def test_a_killed_holder_of_a_lock_without_an_end_leaves_the_sale_stuck(sites: Sites, crowd: Crowd) -> None:
    damage = suffer(BY_ID["setnx_lock_plain"], Fault.KILLED, sites=sites, crowd=crowd)
    assert damage is not None
    assert damage.stuck
    assert not damage.misbehaved


def test_the_ledger_loses_nothing_when_the_store_is_killed_and_comes_back(sites: Sites, full_crowd: Crowd) -> None:
    damage = suffer(BY_ID["ledger"], Fault.STORE_RESTARTED, sites=sites, crowd=full_crowd)
    assert damage is not None
    assert (damage.oversold, damage.unsold, damage.stuck) == (0, 0, False)


def test_a_lost_store_makes_all_in_lua_invent_stock_and_the_ledger_stop(sites: Sites, full_crowd: Crowd) -> None:
    invented = suffer(BY_ID["all_in_lua"], Fault.STORE_LOST, sites=sites, crowd=full_crowd)
    assert invented is not None
    assert invented.oversold == 10
    stopped = suffer(BY_ID["ledger"], Fault.STORE_LOST, sites=sites, crowd=full_crowd)
    assert stopped is not None
    assert stopped.oversold == 0
