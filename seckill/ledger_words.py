"""The words of the scripts, and how they write a hold and a number.

Answers are in the order of the checks in their Lua files. The answers of `reserve` are in seckill/outcomes.py,
since buyers see them.
"""

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

# The numbers that the function `counter` of the scripts accepts.
NUMBER = re.compile(rb"0|-?[1-9][0-9]{0,13}|[1-9][0-9]{14}")
HOLD = re.compile(rb"(held|sold|ended):([0-9]+):(0|[1-9][0-9]{0,14}):([0-9]+)")


class Published(StrEnum):
    ALREADY_PUBLISHED = "already_published"
    PUBLISHED = "published"


class Readmitted(StrEnum):
    UNAVAILABLE = "unavailable"
    ALREADY_RESERVED = "already_reserved"
    HOLD_ENDED = "hold_ended"
    LIMIT_REACHED = "limit_reached"
    TOO_FEW_LEFT = "too_few_left"
    READMITTED = "readmitted"


class Confirmed(StrEnum):
    UNAVAILABLE = "unavailable"
    UNKNOWN_HOLD = "unknown_hold"
    ALREADY_CONFIRMED = "already_confirmed"
    HOLD_ENDED = "hold_ended"
    CONFIRMED = "confirmed"


class Released(StrEnum):
    UNAVAILABLE = "unavailable"
    UNKNOWN_HOLD = "unknown_hold"
    ALREADY_RELEASED = "already_released"
    ALREADY_CONFIRMED = "already_confirmed"
    RELEASED = "released"


class Adjusted(StrEnum):
    UNAVAILABLE = "unavailable"
    ALREADY_APPLIED = "already_applied"
    UNLIMITED = "unlimited"
    TOO_FEW_LEFT = "too_few_left"
    ADJUSTED = "adjusted"


class Restored(StrEnum):
    UNAVAILABLE = "unavailable"
    ALREADY_RESTORED = "already_restored"
    LIMIT_REACHED = "limit_reached"
    TOO_FEW_LEFT = "too_few_left"
    RESTORED = "restored"


class Forgotten(StrEnum):
    UNAVAILABLE = "unavailable"
    UNKNOWN_HOLD = "unknown_hold"
    NOT_ENDED = "not_ended"
    TOO_EARLY = "too_early"
    LAST_HOLD = "last_hold"
    FORGOTTEN = "forgotten"


class Archived(StrEnum):
    UNAVAILABLE = "unavailable"
    NOT_OVER = "not_over"
    UNITS_HELD = "units_held"
    OUTBOX_NOT_EMPTY = "outbox_not_empty"
    ARCHIVED = "archived"


class LineOpened(StrEnum):
    UNAVAILABLE = "unavailable"
    OPENED = "opened"


class Joined(StrEnum):
    UNAVAILABLE = "unavailable"
    NO_LINE = "no_line"
    ALREADY_RESERVED = "already_reserved"
    HOLD_ENDED = "hold_ended"
    ALREADY_WAITING = "already_waiting"
    PAUSED = "paused"
    NOT_OPEN = "not_open"
    CLOSED = "closed"
    LIMIT_REACHED = "limit_reached"
    UNITS_LEFT = "units_left"
    LINE_FULL = "line_full"
    JOINED = "joined"


class Departed(StrEnum):
    NOT_WAITING = "not_waiting"
    LEFT_LINE = "left_line"


class HandedOn(StrEnum):
    UNAVAILABLE = "unavailable"
    NO_LINE = "no_line"
    PAUSED = "paused"
    NOT_OPEN = "not_open"
    CLOSED = "closed"
    NOBODY_FITS = "nobody_fits"
    BACKLOG_FULL = "backlog_full"
    HANDED_ON = "handed_on"


class RestoreAs(StrEnum):
    """The state to restore a hold in: that of its order, or `late_payment` if it was paid after it had ended."""

    HELD = "held"
    SOLD = "sold"
    ENDED = "ended"
    LATE_PAYMENT = "late_payment"


class ReleaseReason(StrEnum):
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    REFUNDED = "refunded"


@dataclass(frozen=True, slots=True)
class Hold:
    """A reservation in the store; `state` is `held`, `sold` or `ended`."""

    state: str
    buyer_id: int
    units: int
    deadline_ms: int


def hold_from(value: bytes) -> Hold | None:
    """Parse a hold as the scripts write it; None if it is damaged."""
    match = HOLD.fullmatch(value)
    if match is None:
        return None
    state, buyer_id, units, deadline_ms = match.groups()
    return Hold(state=state.decode(), buyer_id=int(buyer_id), units=int(units), deadline_ms=int(deadline_ms))


def note_from(value: bytes) -> dict[str, str] | None:
    """A note for buyers by the code of its language; None if it cannot be read."""
    try:
        note = json.loads(value)
    except ValueError:
        return None
    is_note = isinstance(note, dict) and note and all(isinstance(text, str) for text in note.values())
    return note if is_note else None


def number_from(text: bytes) -> int:
    """A number that the scripts can count with. Raises ValueError for any other, such as 1.5 or 007."""
    if not NUMBER.fullmatch(text):
        raise ValueError(f"not a number that the scripts write: {text!r}")
    return int(text)


@dataclass(frozen=True, slots=True)
class Restoration:
    """One order's hold, as the store should have it."""

    reservation_id: UUID
    buyer_id: int
    units: int
    deadline_ms: int
    state: RestoreAs
