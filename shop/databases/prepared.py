"""Queries of hot paths. Django takes longer to build such a query than PostgreSQL to answer it."""

from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet


class Prepared:
    """A query with placeholders, turned into SQL once."""

    def __init__(self, query: QuerySet[Any, Any]) -> None:
        """`query` is one of `values_list`, filtered by any values of the right types. Nothing else in it is a value."""
        self._sql, self._placeholders = query.order_by().query.sql_with_params()

    def first(self, *values: int | str | UUID) -> tuple[Any, ...] | None:
        """The first row with these values in place of those of the query, in the order in which the SQL has them."""
        assert len(values) == len(self._placeholders)
        with connection.cursor() as cursor:
            cursor.execute(self._sql, values)
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row
