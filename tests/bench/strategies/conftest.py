"""The servers for strategies: the store and the database of the test run, and a cluster for those that need one."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from bench.lab.schedules.interleaver import ServerUrls
from bench.lab.servers.cluster import Primaries, running_cluster
from bench.lab.servers.lab_store import strategy_client
from bench.strategies.base.strategy import Backend, Strategy, Surroundings

# The workers of a parallel run share a database, but not tables.
RUN = f"run-{os.getpid()}"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Primaries]:
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def urls_of(request: pytest.FixtureRequest) -> Callable[[type[Strategy]], ServerUrls]:
    """The servers that a strategy needs; the cluster is started for the first that does."""

    def find(strategy: type[Strategy]) -> ServerUrls:
        in_cluster = strategy.backend is Backend.CLUSTER
        return ServerUrls(
            store_url=os.environ["SECKILL_REDIS_URL"],
            database_url=os.environ["DATABASE_URL"],
            cluster_url=request.getfixturevalue("cluster").url if in_cluster else None,
        )

    return find


@pytest.fixture
def make(urls_of: Callable[[type[Strategy]], ServerUrls]) -> Iterator[Callable[..., Any]]:
    """Makes strategies with clients of their own. Those of one test share their stock."""
    made: list[Strategy] = []

    def make_one(strategy: type[Strategy], *, stock: int | None = None, **options: Any) -> Strategy:
        urls = urls_of(strategy)
        surroundings = Surroundings(
            store=strategy_client(urls.url_of(strategy.backend), backend=strategy.backend),
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
