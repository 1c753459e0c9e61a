"""The clock that payments go by: PostgreSQL's. That of a worker or a web server may be an hour off."""

from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Expression
from django.db.models.functions import Now

# Repetitions slow down to this: soon enough for the buyer, rare enough for a provider that is away for the night.
WAIT_SECONDS_MAX = 300


def database_now() -> datetime:
    """What time it is."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def next_attempt(*, attempts: int, wait_seconds_max: int = WAIT_SECONDS_MAX) -> Expression:
    """When to try again after `attempts` tries, for an update: after 1, 2, 4, … seconds."""
    wait_seconds = min(2 ** min(attempts - 1, 20), wait_seconds_max)
    return Now() + timedelta(seconds=wait_seconds)
