"""Empties the database after a test that commits, in a few milliseconds.

Django's own way is the command `flush`: it truncates every table, which rewrites the files of some 500 tables and
indexes, and makes all content types and permissions anew. That took up to a second for a test. Here the tables that
have rows are asked for in one query, and only their rows are deleted. Content types and permissions stay.
"""

from functools import cache
from typing import Any
from weakref import WeakSet

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import OperationalError, connections, transaction
from django.test import TransactionTestCase
from psycopg.errors import DeadlockDetected

# The worker's transaction is over by then: it does not begin again at once.
ATTEMPTS = 5

_KEPT = {ContentType._meta.db_table, Permission._meta.db_table}
# Connections that have planned the query, which takes PostgreSQL ten times as long as to run it.
_planned: WeakSet[Any] = WeakSet()


def use_for_all_tests() -> None:
    """In place of what Django does when a test with `transaction=True` ends."""
    TransactionTestCase._fixture_teardown = _empty_databases  # type: ignore[attr-defined]
    # The connection goes on: a new one knows no table yet, so its first query of each takes longer than all later ones.
    TransactionTestCase._should_reload_connections = lambda self: False  # type: ignore[attr-defined]


def _empty_databases(test_case: TransactionTestCase) -> None:
    for alias in test_case._databases_names(include_mirrors=False):  # type: ignore[attr-defined]
        empty_tables(alias=alias)


def empty_tables(*, alias: str = "default") -> None:
    """Delete every row of the shop's tables, though a worker of the test's shop may be busy with some of them.

    Where both wait for each other, PostgreSQL ends one. It may be this one, which then begins again.
    """
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            return delete_all_rows(alias=alias)
        except OperationalError as error:
            if not attempts_left or not isinstance(error.__cause__, DeadlockDetected):
                raise


def delete_all_rows(*, alias: str) -> None:
    """Foreign keys are not looked at, since both ends go."""
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        # Nor does the next test have what this one has set for the connection.
        cursor.execute("RESET ALL")
        connections[alias].ensure_timezone()
        if connections[alias].connection not in _planned:
            cursor.execute(f"PREPARE tables_with_rows AS {_tables_with_rows(alias)}")
            _planned.add(connections[alias].connection)
        cursor.execute("EXECUTE tables_with_rows")
        tables = [name for (name,) in cursor.fetchall()]
        if tables:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute("; ".join(f'DELETE FROM "{name}"' for name in tables))


@cache
def _tables_with_rows(alias: str) -> str:
    names = connections[alias].introspection.django_table_names(only_existing=True, include_views=False)
    return " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT FROM \"{name}\")" for name in sorted({*names} - _KEPT)
    )
