"""Where strategies are tried: the store and the database of the run, and a cluster started for those that need one."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from bench.lab.schedules.interleaver import Place
from bench.lab.servers.cluster import Cluster, running_cluster
from bench.lab.servers.strategy_client import client_of
from bench.strategies.base.strategy import Home, Strategy, Surroundings

# Databases are shared by the workers of a parallel run; their tables must not be.
RUN = f"run-{os.getpid()}"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def place_of(request: pytest.FixtureRequest) -> Callable[[type[Strategy]], Place]:
    """The servers that a strategy needs; the cluster is started for the first that does."""

    def find(strategy: type[Strategy]) -> Place:
        in_cluster = strategy.home is Home.CLUSTER
        return Place(
            store_url=os.environ["SECKILL_REDIS_URL"],
            database_url=os.environ["DATABASE_URL"],
            cluster_url=request.getfixturevalue("cluster").url if in_cluster else None,
        )

    return find


@pytest.fixture
def make(place_of: Callable[[type[Strategy]], Place]) -> Iterator[Callable[..., Any]]:
    """A strategy as a process of its own would make it. Those of one test share their stock."""
    made: list[Strategy] = []

    def make_one(strategy: type[Strategy], *, stock: int | None = None, **options: Any) -> Strategy:
        place = place_of(strategy)
        surroundings = Surroundings(
            store=client_of(place.url_of(strategy.home), home=strategy.home),
            database=lambda: psycopg.connect(os.environ["DATABASE_URL"]),
            **options,
        )
        made.append(strategy(surroundings, RUN))
        if stock is not None:
            made[-1].set_stock(stock)
        return made[-1]

    yield make_one
    for strategy in made:
        strategy.close()
    for strategy in made[:1]:
        strategy.tear_down()
    for strategy in made:
        strategy.close()
        if strategy.store is not None:
            strategy.store.close()
