"""Times as text."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from shop.times.timestamps import from_ms, rfc3339, to_ms

# The first and the last millisecond that a datetime can have.
FIRST_MS, LAST_MS = to_ms(datetime(1, 1, 1, tzinfo=UTC)), to_ms(datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC))


@given(st.integers(FIRST_MS, LAST_MS))
def test_the_text_is_that_of_the_datetime(ms: int) -> None:
    assert rfc3339(ms) == from_ms(ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_milliseconds_have_three_digits() -> None:
    assert [rfc3339(ms) for ms in (0, 7, 1_999)] == [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.007Z",
        "1970-01-01T00:00:01.999Z",
    ]
