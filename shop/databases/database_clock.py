"""PostgreSQL's clock. That of a worker or a web server may be an hour off, and must decide about no deadline."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The current time. Within a transaction it goes on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
