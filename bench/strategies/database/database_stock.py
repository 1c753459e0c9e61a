"""The base of the strategies on PostgreSQL: tables of their own, and a connection for each thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from bench.strategies.base.strategy import Backend, Strategy, Surroundings


class DatabaseStock(Strategy):
    """Tables named after the run, made by `set_stock` and dropped by `tear_down`."""

    backend = Backend.DATABASE

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        super().__init__(surroundings, name)
        self.stock_table = sql.Identifier(f"{name}_stock")
        self.orders_table = sql.Identifier(f"{name}_orders")
        self._local = threading.local()
        self._connections: list[psycopg.Connection[Any]] = []

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """This thread's own connection: threads must not share a transaction."""
        connection: psycopg.Connection[Any] | None = getattr(self._local, "connection", None)
        if connection is None:
            assert self.surroundings.database is not None, f"{self.id} needs a database"
            connection = self._local.connection = self.surroundings.database()
            self._connections.append(connection)
        return connection

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection, for a transaction that the caller ends. After an exception it is closed."""
        connection = self.connection
        try:
            yield connection
        except BaseException:
            connection.close()
            self._connections.remove(connection)
            self._local.connection = None
            raise

    def sql(self, text: LiteralString) -> sql.Composed:
        """A statement with the names of this run's tables."""
        return sql.SQL(text).format(stock=self.stock_table, orders=self.orders_table)

    def set_stock(self, units: int) -> None:
        """All units in one row."""
        self.make_tables()
        self.connection.execute(self.sql("INSERT INTO {stock} VALUES (1, %s)"), [units])
        self.connection.commit()

    def left(self) -> int | None:
        row = self.connection.execute(self.sql("SELECT coalesce(sum(stock), 0) FROM {stock}")).fetchone()
        self.connection.rollback()  # the read began a transaction, and DROP TABLE would wait for it
        return None if row is None else int(row[0])

    def tear_down(self) -> None:
        self.connection.execute(self.sql("DROP TABLE IF EXISTS {stock}, {orders}"))
        self.connection.commit()
        self.close()

    def close(self) -> None:
        while self._connections:
            self._connections.pop().close()
        self._local = threading.local()

    def make_tables(self) -> None:
        self.connection.execute(self.sql("DROP TABLE IF EXISTS {stock}, {orders}"))
        self.connection.execute(self.sql("CREATE TABLE {stock} (id integer PRIMARY KEY, stock integer NOT NULL)"))
        self.connection.execute(
            self.sql(
                "CREATE TABLE {orders} (id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY, "
                "buyer integer NOT NULL, units integer NOT NULL)"
            )
        )
