"""Times are in the shop's zone, and say so, in the reader's language."""

from datetime import UTC, datetime

import pytest
from django.template import Context, Template
from django.utils import timezone, translation

from shop.times.zone import named_time

MOMENT = datetime(2026, 1, 2, 6, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "Jan 2, 2026 14:04 UTC+08:00"), ("zh-hans", "2026年1月2日 14:04 UTC+08:00")],
)
def test_a_time_names_its_zone(language: str, text: str) -> None:
    with timezone.override("Asia/Shanghai"), translation.override(language):
        assert named_time(MOMENT) == text
        page = Template("{% load times %}{% local_time at %}").render(Context({"at": MOMENT}))
    assert text in page


def test_of_a_span_only_the_end_names_the_zone() -> None:
    with timezone.override("Asia/Shanghai"):
        page = Template("{% load times %}{% local_time at named=False %}").render(Context({"at": MOMENT}))
    assert ">Jan 2, 2026 14:04<" in page
