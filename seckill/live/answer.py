"""An item's live state in the words of the API."""

from typing import Any

from seckill.ledger import Counters
from seckill.phase import Phase
from seckill.timestamps import rfc3339

# How often a page should ask again. Most pages are open around the opening, so not more often than this.
POLL_MS = 1_000
POLL_SLOWLY_MS = 10_000
# While the opening is further away than this, a page can ask slowly: nothing changes that it must know quickly.
FAR_FROM_OPENING_MS = 60_000


def live_body(counters: Counters | None, *, now_ms: int) -> dict[str, Any]:
    """The body of `live`. `counters` is None if the store is unreachable or does not have the item."""
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
    """Whether units are left, regardless of the phase."""
    if counters.left is None:
        return "unlimited"
    if counters.left > 0:
        return "available"
    return "held_by_others" if counters.held > 0 else "sold_out"


def poll_after_ms(counters: Counters) -> int:
    phase = counters.phase
    if phase is Phase.ENDED or (phase is Phase.UPCOMING and counters.opens_ms - counters.now_ms > FAR_FROM_OPENING_MS):
        return POLL_SLOWLY_MS
    return POLL_MS
