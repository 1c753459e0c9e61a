"""Times as milliseconds since 1970, as datetimes, and as text for the API."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(ms: int) -> str:
    """Milliseconds since 1970 as RFC 3339 in UTC, to the millisecond."""
    second, rest = divmod(ms, 1000)
    return f"{_second(second)}.{rest:03}Z"


# Deadlines and the time of an answer are in the same few seconds for all buyers.
@lru_cache(maxsize=100)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, tz=UTC).replace(tzinfo=None).isoformat()


def to_ms(at: datetime) -> int:
    """A datetime as milliseconds since 1970. Only integers are used: a float could lose the last millisecond."""
    return (at - EPOCH) // timedelta(milliseconds=1)


def from_ms(ms: int) -> datetime:
    """Milliseconds since 1970 as a datetime in UTC. Raises OverflowError beyond the year 9999."""
    return EPOCH + timedelta(milliseconds=ms)


def now_ms() -> int:
    """This process's clock. For information only: every decision is made by the store's clock."""
    return time.time_ns() // 1_000_000
