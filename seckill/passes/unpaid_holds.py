"""Holds that ended unpaid, counted for each buyer and item. Too many, and the buyer gets no pass for it for a while.

Held time counts, in parts of a whole hold: a cancel in the last minute keeps units from others as long as an expiry.
Asked for with the pass alone, so that reserving costs nothing more. A pass that was given before goes on working for
as long as it lives (SECKILL_PASS_LIFE_SECONDS).
"""

from functools import lru_cache

from django.conf import settings

from shop.http import rate_limits
from shop.http.rate_limits import LimitReached, rate_of

ACTION = "unpaid_hold"
# So fine that short holds add up. The server's key has the rate with it, so releases with other parts count apart.
PARTS = 1000


class HoldsUnpaid(LimitReached):
    """No pass for now: the buyer has let holds of the item end unpaid."""


def note(*, item_id: int, buyer_id: int, share: float) -> None:
    """A hold ended unpaid after this share of its time. Never raises: where nobody counts, the buyer is let off."""
    if parts := int(max(0.0, min(share, 1.0)) * PARTS):
        rate = rate_in_parts(settings.UNPAID_HOLD_LIMIT)
        rate_limits.add(action=ACTION, rate=rate, key=key(buyer_id, item_id), cost=parts)


def check(*, item_id: int, buyer_id: int) -> None:
    """Raises HoldsUnpaid."""
    rate = rate_in_parts(settings.UNPAID_HOLD_LIMIT)
    seconds = rate_limits.wait_seconds(action=ACTION, rate=rate, key=key(buyer_id, item_id))
    if seconds:
        raise HoldsUnpaid(retry_after_seconds=seconds)


def key(buyer_id: int, item_id: int) -> str:
    return f"{buyer_id}:{item_id}"


@lru_cache(maxsize=4)
def rate_in_parts(rate: str) -> str:
    item = rate_of(rate)
    return f"{item.amount * PARTS} per {item.multiples} {item.GRANULARITY.name}"
