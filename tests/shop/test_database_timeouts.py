"""A client that hangs in a transaction must not keep the rows of a sale locked for hours."""

import pytest
from django.db import DatabaseError, connection, connections

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_server_has_the_timeouts_of_the_settings() -> None:
    with connection.cursor() as cursor:
        for setting, value in (
            ("idle_in_transaction_session_timeout", "30s"),
            ("lock_timeout", "10s"),
            ("tcp_keepalives_idle", "10"),
            ("tcp_keepalives_count", "3"),
        ):
            cursor.execute(f"SHOW {setting}")
            assert cursor.fetchone() == (value,), setting


def test_a_transaction_in_which_nothing_happens_is_ended_by_the_server() -> None:
    """The same with a second instead of thirty."""
    hanging = connections["default"].copy()
    hanging.set_autocommit(False)
    try:
        with hanging.cursor() as cursor:
            cursor.execute("SET idle_in_transaction_session_timeout = '200ms'")
            cursor.execute("SELECT pg_advisory_xact_lock(1)")
        with connection.cursor() as cursor:
            # Waits until the server has ended the other transaction.
            cursor.execute("SELECT pg_advisory_lock(1)")
            cursor.execute("SELECT pg_advisory_unlock(1)")
        with pytest.raises(DatabaseError), hanging.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        hanging.close()
