"""Times as milliseconds since 1970, as datetimes, and as text for the API."""

import time
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(ms: float) -> str:
    """Milliseconds since 1970 as RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(ms / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_ms(at: datetime) -> int:
    """A datetime as milliseconds since 1970. Only integers are used: a float could lose the last millisecond."""
    return (at - EPOCH) // timedelta(milliseconds=1)


def from_ms(ms: int) -> datetime:
    """Milliseconds since 1970 as a datetime in UTC. Raises OverflowError beyond the year 9999."""
    return EPOCH + timedelta(milliseconds=ms)


def now_ms() -> int:
    """This process's clock. For information only: every decision is made by the store's clock."""
    return time.time_ns() // 1_000_000
