"""The phase of a sale or an item: one rule, as a function and as an SQL condition."""

from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from django.db.models import Q

# Datetimes, or milliseconds since 1970.
Time = TypeVar("Time", int, datetime)


class Phase(StrEnum):
    """The words of the API, in the order of a sale's life."""

    UPCOMING = "upcoming"
    OPEN = "open"
    PAUSED = "paused"
    ENDED = "ended"


def phase_of(*, opens: Time, closes: Time, now: Time, paused: bool) -> Phase:
    """The phase at `now`. The end counts more than a pause, and a pause more than the opening."""
    if now >= closes:
        return Phase.ENDED
    if paused:
        return Phase.PAUSED
    return Phase.UPCOMING if now < opens else Phase.OPEN


def in_phase(phase: Phase, *, now: datetime, path: str = "") -> Q:
    """The rows for which `phase_of` gives `phase`. `path` leads from the row to its sale: "" or "sale__"."""
    opened = Q(**{f"{path}opens_at__lte": now})
    closed = Q(**{f"{path}closes_at__lte": now})
    paused = Q(**{f"{path}paused": True})
    return {
        Phase.UPCOMING: ~opened & ~closed & ~paused,
        Phase.OPEN: opened & ~closed & ~paused,
        Phase.PAUSED: ~closed & paused,
        Phase.ENDED: closed,
    }[phase]
