"""Statements to the PostgreSQL of a shop under test, or to a standby of it, each on a connection of its own."""

from typing import Any

import psycopg
from django.conf import settings

from bench.faults.shop_under_test import port_in, through


def tell(*statements: str, port: int | None = None) -> None:
    """Raises psycopg's errors."""
    with psycopg.connect(through(settings.DATABASE_URL, port=port or own_port()), autocommit=True) as session:
        for statement in statements:
            session.execute(statement.encode())


def ask(query: str, *, port: int | None = None) -> Any:
    """The first column of the first row; None if there is none, or while the server is away."""
    try:
        with psycopg.connect(through(settings.DATABASE_URL, port=port or own_port()), autocommit=True) as session:
            row = session.execute(query.encode()).fetchone()
            return row[0] if row else None
    except psycopg.OperationalError:
        return None


def own_port() -> int:
    return port_in(settings.DATABASE_URL)
