"""A small lab: a store of its own, the PostgreSQL of the test run, and two processes of buyers."""

import os
from collections.abc import Iterator

import pytest

from bench.lab.buyers.buyer_pool import BuyerPool, running_pool
from bench.lab.buyers.calls import Setting
from bench.lab.servers.lab_servers import LabServers, running_lab_servers
from bench.strategies.all_strategies import ALL
from bench.strategies.base.strategy import Backend

SMALL = Setting(buyers=30, stock=12, units_max=1, processes=2, clients=2, seconds_max=20)


@pytest.fixture(scope="module")
def lab_servers() -> Iterator[LabServers]:
    """Without the cluster, which takes seconds to start and has its own tests."""
    kinds = [strategy for strategy in ALL if strategy.backend is not Backend.CLUSTER]
    with running_lab_servers(kinds, database_url=os.environ["DATABASE_URL"]) as opened:
        yield opened


@pytest.fixture(scope="module")
def pool() -> Iterator[BuyerPool]:
    with running_pool(processes=SMALL.processes, clients=SMALL.clients) as gathered:
        yield gathered
