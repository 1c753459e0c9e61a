"""In which phase a sale or an item is: one rule, as a function of its window and as a condition of SQL."""

from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from django.db.models import Q

# Datetimes, or milliseconds since 1970: the rule is the same for both.
Moment = TypeVar("Moment", int, datetime)


class Phase(StrEnum):
    """The words of the API, in the order of a sale's life."""

    UPCOMING = "upcoming"
    OPEN = "open"
    PAUSED = "paused"
    ENDED = "ended"


def phase_of(*, opens: Moment, closes: Moment, now: Moment, paused: bool) -> Phase:
    """The phase at `now`. A pause shows until the end: an ended sale is ended, whether it was paused or not."""
    if now >= closes:
        return Phase.ENDED
    if paused:
        return Phase.PAUSED
    return Phase.UPCOMING if now < opens else Phase.OPEN


def in_phase(phase: Phase, *, now: datetime, path: str = "") -> Q:
    """Which rows `phase_of` would give `phase`; `path` leads from the row to its sale: "" or "sale__"."""
    opened = Q(**{f"{path}opens_at__lte": now})
    closed = Q(**{f"{path}closes_at__lte": now})
    paused = Q(**{f"{path}paused": True})
    return {
        Phase.UPCOMING: ~opened & ~closed & ~paused,
        Phase.OPEN: opened & ~closed & ~paused,
        Phase.PAUSED: ~closed & paused,
        Phase.ENDED: closed,
    }[phase]
