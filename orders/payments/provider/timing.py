"""Times of payments come from PostgreSQL's clock; that of a worker or a web server may be an hour off."""

from datetime import timedelta
from typing import Any

from django.db.models import Expression, QuerySet
from django.db.models.functions import Now

from shop.databases.database_clock import database_now

# A signed message may be this old, or this far in the future: enough for clocks that drift, short enough against
# replays of a captured message. Stripe's own default.
TOLERANCE_SECONDS = 300

# After this long a sweep asks no further: each of its rows may take several calls that a slow provider answers just in
# time, and the task's limit is 60 s.
SWEEP_SECONDS = 20.0

# The longest pause between retries: short enough for the buyer, long enough for a provider that is down all night.
WAIT_SECONDS_MAX = 300


def is_current(signed_s: int) -> bool:
    """Whether the time of a signature, in seconds since 1970, is close enough to now."""
    return abs(database_now().timestamp() - signed_s) <= TOLERANCE_SECONDS


def next_attempt(*, attempts: int, wait_seconds_max: int = WAIT_SECONDS_MAX) -> Expression:
    """When to try again after `attempts` attempts, as an expression for an update: in 1, 2, 4, … seconds."""
    wait_seconds = min(2 ** min(attempts - 1, 20), wait_seconds_max)
    return Now() + timedelta(seconds=wait_seconds)


def claim_attempt(rows: QuerySet[Any], *, attempts_before: int, column: str = "next_attempt_at") -> bool:
    """Count an attempt and schedule the next one, before this one is made. False if another process was faster.

    `rows` is one row, in the state that calls for the attempt. Of two sweeps only one makes the attempt, and after a
    crash the next sweep makes another one.
    """
    attempts = attempts_before + 1
    unclaimed = rows.filter(attempts=attempts_before)
    return unclaimed.update(**{"attempts": attempts, column: next_attempt(attempts=attempts)}) == 1
