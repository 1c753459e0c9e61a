"""Fixtures that the tests of orders share."""

from collections.abc import Iterator

import pytest
from django.db import connection


@pytest.fixture
def first_number_drawn_twice(transactional_db: None) -> Iterator[None]:
    """PostgreSQL's function for short numbers gives the first two orders the same one, and then others."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef('orders_new_code'::regproc)")
        (definition,) = cursor.fetchone()
        cursor.execute("CREATE SEQUENCE draws")
        cursor.execute(
            "CREATE OR REPLACE FUNCTION orders_new_code() RETURNS text LANGUAGE sql VOLATILE AS "
            "$$ SELECT lpad(greatest(nextval('draws') - 1, 1)::text, 8, 'A') $$"
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute(definition)
        cursor.execute("DROP SEQUENCE draws")
