"""Queries of hot paths. Django takes longer to build such a query than PostgreSQL to answer it."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

Value = int | str | datetime | UUID


class Prepared:
    """A query with placeholders, turned into SQL once."""

    def __init__(self, query: QuerySet[Any, Any]) -> None:
        """`query` is one of `values_list`, filtered by any values of the right types. Nothing else in it is a value."""
        self._sql, self._placeholders = query.order_by().query.sql_with_params()

    def first(self, *values: Value) -> tuple[Any, ...] | None:
        """The first row with these values in place of those of the query, in the order in which the SQL has them."""
        return next(iter(self.all(*values)), None)

    def all(self, *values: Value) -> list[tuple[Any, ...]]:
        """All rows, in no order."""
        assert len(values) == len(self._placeholders)
        with connection.cursor() as cursor:
            cursor.execute(self._sql, values)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows
