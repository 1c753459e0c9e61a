"""The clock that payments go by: PostgreSQL's. That of a worker or a web server may be an hour off."""

from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Expression
from django.db.models.functions import Now

# A signed message may be this old or this far ahead: long enough for clocks that drift, short enough that a message
# copied off a wire is worthless tomorrow. Stripe's own default.
TOLERANCE_SECONDS = 300

# Repetitions slow down to this: soon enough for the buyer, rare enough for a provider that is away for the night.
WAIT_SECONDS_MAX = 300


def database_now() -> datetime:
    """What time it is."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def is_current(signed_s: int) -> bool:
    """Whether a message that was signed then, in seconds since 1970, may be believed to come from its signer now."""
    return abs(database_now().timestamp() - signed_s) <= TOLERANCE_SECONDS


def next_attempt(*, attempts: int, wait_seconds_max: int = WAIT_SECONDS_MAX) -> Expression:
    """When to try again after `attempts` tries, for an update: after 1, 2, 4, … seconds."""
    wait_seconds = min(2 ** min(attempts - 1, 20), wait_seconds_max)
    return Now() + timedelta(seconds=wait_seconds)
