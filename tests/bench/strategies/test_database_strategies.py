"""Selling from PostgreSQL alone: which buyers wait, what happens when one is killed, and what remains."""

import os
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from bench.lab.schedules.interleaver import BuyerStep, ServerUrls, interleaved
from bench.strategies.base.strategy import Answer, Strategy
from bench.strategies.database.database_stock import DatabaseStock
from bench.strategies.database.pg_conditional import PgConditional
from bench.strategies.database.pg_row_lock import PgRowLock
from bench.strategies.database.pg_skip_locked import PgSkipLocked
from tests.bench.strategies.conftest import RUN

UrlsOf = Callable[[type[Strategy]], ServerUrls]

each_strategy = pytest.mark.parametrize(
    "strategy", [PgRowLock, PgConditional, PgSkipLocked], ids=lambda strategy: strategy.id
)
each_queue = pytest.mark.parametrize("strategy", [PgRowLock, PgConditional], ids=lambda strategy: strategy.id)


@each_strategy
def test_the_tables_are_gone_after_the_run(strategy: type[DatabaseStock], make: Callable[..., DatabaseStock]) -> None:
    sale = make(strategy, stock=1)
    assert tables() == {f"{RUN}_stock", f"{RUN}_orders"}
    sale.tear_down()
    assert tables() == set()


@each_queue
def test_the_second_buyer_waits_for_the_row_of_the_first(strategy: type[DatabaseStock], urls_of: UrlsOf) -> None:
    with interleaved(strategy, urls_of(strategy), name=RUN, stock=1) as sale:
        done: list[Any] = []
        sale.report = done.append
        sale.go("A")
        sale.go("B")
        assert [event.blocked for event in done if isinstance(event, BuyerStep)] == [False, True]
        sale.finish("A")
        sale.finish("B")
        assert (sale.answer_of("A"), sale.answer_of("B"), sale.left()) == (Answer.SOLD, Answer.REFUSED, 0)


def test_with_one_row_per_unit_no_buyer_waits(urls_of: UrlsOf) -> None:
    with interleaved(PgSkipLocked, urls_of(PgSkipLocked), name=RUN, stock=2) as sale:
        sale.go("A")
        sale.finish("B")
        sale.finish("A")
        assert (sale.answer_of("A"), sale.answer_of("B"), sale.left()) == (Answer.SOLD, Answer.SOLD, 0)


@each_strategy
def test_a_buyer_killed_in_the_middle_leaves_nothing_locked_and_nothing_sold(
    strategy: type[DatabaseStock], urls_of: UrlsOf
) -> None:
    with interleaved(strategy, urls_of(strategy), name=RUN, stock=1) as sale:
        sale.go("A", 2)
        sale.kill("A")
        sale.finish("B")
        assert (sale.answer_of("B"), sale.sold, sale.left()) == (Answer.SOLD, 1, 0)
        assert orders() == 1


def orders() -> int:
    with connected() as connection:
        row = connection.execute(f'SELECT sum(units) FROM "{RUN}_orders"').fetchone()
    return int(row[0]) if row else 0


def tables() -> set[str]:
    with connected() as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE %s", [f"{RUN}%"]).fetchall()
    return {row[0] for row in rows}


def connected() -> Any:
    return psycopg.connect(os.environ["DATABASE_URL"])
