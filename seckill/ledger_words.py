"""The words that the scripts answer with, in the order of the checks in their Lua files, and the words that they take.

The answers of `reserve` are in seckill/outcomes.py, since buyers see them.
"""

from enum import StrEnum


class Published(StrEnum):
    ALREADY_PUBLISHED = "already_published"
    PUBLISHED = "published"


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


class RestoreAs(StrEnum):
    """The state to restore a hold in: that of its order, or `late_payment` if it was paid after it had ended."""

    HELD = "held"
    SOLD = "sold"
    ENDED = "ended"
    LATE_PAYMENT = "late_payment"


class ReleaseReason(StrEnum):
    """Why a hold is released."""

    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    REFUNDED = "refunded"
