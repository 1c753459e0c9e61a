"""Times are in the shop's zone, and say so, in the reader's language; programs read them as RFC 3339."""

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from shop.times.timestamps import from_ms, rfc3339, to_ms
from shop.times.zone import named_time, window_text

MOMENT = datetime(2026, 1, 2, 6, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "Jan 2, 2026 14:04 (Beijing time)"), ("zh-hans", "2026年1月2日 14:04（北京时间）")],
)
def test_a_time_names_its_zone(language: str, text: str) -> None:
    with timezone.override("Asia/Shanghai"), translation.override(language):
        assert named_time(MOMENT) == text
        page = Template("{% load times %}{% local_time at %}").render(Context({"at": MOMENT}))
    assert text in page


@pytest.mark.parametrize(
    ("zone", "language", "closing", "text"),
    [
        ("Asia/Shanghai", "zh-hans", MOMENT + timedelta(minutes=30), "1月2日 14:04–14:34（北京时间）"),
        ("Asia/Shanghai", "en", MOMENT + timedelta(minutes=30), "Jan 2 14:04–14:34 (Beijing time)"),
        ("Europe/Berlin", "en", MOMENT + timedelta(days=1), "Jan 2 07:04 – Jan 3 07:04 (Central European Time)"),
        ("UTC", "zh-hans", MOMENT + timedelta(hours=1), "1月2日 06:04–07:04（UTC）"),
    ],
)
def test_of_a_window_the_day_and_the_zone_are_said_once(zone: str, language: str, closing: datetime, text: str) -> None:
    with timezone.override(zone), translation.override(language):
        assert window_text(MOMENT, closing, with_year=False) == text
        next_year = closing + timedelta(days=800)
        page = Template("{% load times %}{% time_window at to %}").render(Context({"at": MOMENT, "to": next_year}))
    assert str(next_year.year) in page.split(">")[1]


@given(
    st.integers(to_ms(datetime(1, 1, 1, tzinfo=UTC)), to_ms(datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)))
)
def test_the_text_of_a_moment_is_that_of_the_datetime(ms: int) -> None:
    assert rfc3339(ms) == from_ms(ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")
