"""An item's live state in the words of the API."""

from typing import Any

from seckill.ledger import Counters
from seckill.phase import Phase
from seckill.timestamps import rfc3339

# How often a page should ask again. Around the opening everybody looks, so nobody is asked to look too often.
POLL_MS = 1_000
POLL_FAR_MS = 10_000
# Before this much time to the opening, nothing changes that a page would have to know quickly.
FAR_FROM_OPENING_MS = 60_000


def live_from(counters: Counters | None, *, now_ms: int) -> dict[str, Any]:
    """The body of `live`. `counters` None means that the store is unreachable or does not know the item."""
    if counters is None:
        return {
            "phase": None,
            "availability": "unavailable",
            "quantity": None,
            "left": None,
            "held": None,
            "sold": None,
            "opens_at": None,
            "closes_at": None,
            "server_time": rfc3339(now_ms),
            "poll_after_ms": 2 * POLL_MS,
        }
    return {
        "phase": counters.phase,
        "availability": availability_of(counters),
        "quantity": counters.quantity,
        "left": counters.left,
        "held": counters.held,
        "sold": counters.sold,
        "opens_at": rfc3339(counters.opens_ms),
        "closes_at": rfc3339(counters.closes_ms),
        "server_time": rfc3339(counters.now_ms),
        "poll_after_ms": poll_after_ms(counters),
    }


def availability_of(counters: Counters) -> str:
    """Whether a unit can be had, whatever the phase."""
    if counters.left is None:
        return "unlimited"
    if counters.left > 0:
        return "available"
    return "held_by_others" if counters.held > 0 else "sold_out"


def poll_after_ms(counters: Counters) -> int:
    phase = counters.phase
    if phase is Phase.ENDED or (phase is Phase.UPCOMING and counters.opens_ms - counters.now_ms > FAR_FROM_OPENING_MS):
        return POLL_FAR_MS
    return POLL_MS
