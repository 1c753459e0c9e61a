"""The words that the scripts answer with and take, each list in the order of the checks in its Lua file.

`reserve` has its own list in seckill/outcomes.py, since buyers see it.
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


class RestoreAs(StrEnum):
    """As what a hold is restored: as PostgreSQL knows it, or for money that came after the hold had ended."""

    HELD = "held"
    SOLD = "sold"
    ENDED = "ended"
    LATE_PAYMENT = "late_payment"


class ReleaseReason(StrEnum):
    """Why units are given back."""

    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    REFUNDED = "refunded"
