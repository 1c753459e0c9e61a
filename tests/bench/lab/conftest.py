"""The lab in small: its own store, the run's PostgreSQL, and a crowd of two processes."""

import os
from collections.abc import Iterator

import pytest

from bench.lab.buyers.buyer_pool import Crowd, crowd_of
from bench.lab.buyers.calls import Setting
from bench.lab.servers.lab_servers import Sites, open_sites
from bench.strategies.all_strategies import ALL
from bench.strategies.base.strategy import Home

SMALL = Setting(buyers=30, stock=12, units_max=1, processes=2, clients=2, seconds_max=20)


@pytest.fixture(scope="module")
def sites() -> Iterator[Sites]:
    """Without the cluster: it takes seconds to form, and has tests of its own."""
    kinds = [strategy for strategy in ALL if strategy.home is not Home.CLUSTER]
    with open_sites(kinds, database_url=os.environ["DATABASE_URL"]) as opened:
        yield opened


@pytest.fixture(scope="module")
def crowd() -> Iterator[Crowd]:
    with crowd_of(processes=SMALL.processes, clients=SMALL.clients) as gathered:
        yield gathered
