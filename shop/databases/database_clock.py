"""PostgreSQL's clock. Those of workers and web servers may be an hour off, so no deadline depends on them."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The time at this moment, also within a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
