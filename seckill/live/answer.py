"""An item's live state in the words of the API: for the views, for the gate, and for the pages."""

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from django.utils.http import quote_etag

from seckill.ledger import Counters
from seckill.live.opening import SPREAD_MS_MAX
from seckill.phase import Phase
from shop.times.timestamps import rfc3339

# How often a page should ask again. Most pages are open around the opening, so not more often than this.
POLL_MS = 1_000
POLL_SLOWLY_MS = 10_000
# A prime: consecutive milliseconds are spread over the whole range of a jitter.
JITTER_STEP = 7919
# While the opening is further away than this, a page asks slowly: no figure changes soon. In the last seconds all pages
# ask each second, so a process can count them (seckill/live/opening.py).
FAR_FROM_OPENING_MS = 15_000


def live_body(counters: Counters | None, *, now_ms: int) -> dict[str, Any]:
    """The body of `live` for one item.

    `counters` is None if the store is unreachable or does not have the item; then `now_ms` is the time.
    """
    now_ms = counters.now_ms if counters else now_ms
    return {
        **item_figures(counters),
        "server_time": rfc3339(now_ms),
        "poll_after_ms": jitter_ms(poll_ms(counters), now_ms=now_ms),
    }


def sale_live_body(
    items: Sequence[tuple[int, Counters | None]], *, now_ms: int, opening_spread_ms: int = 0
) -> dict[str, Any]:
    """The body of `live` for all items of a sale: their ids and counters, in order. `now_ms` as in `live_body`."""
    now_ms = next((counters.now_ms for _item_id, counters in items if counters), now_ms)
    shortest_ms = min((poll_ms(counters) for _item_id, counters in items), default=POLL_SLOWLY_MS)
    return {
        "items": [{"id": item_id, **item_figures(counters)} for item_id, counters in items],
        "server_time": rfc3339(now_ms),
        "poll_after_ms": jitter_ms(shortest_ms, now_ms=now_ms),
        "opening_spread_ms": opening_spread_ms if is_opening(items) else 0,
    }


def is_opening(items: Sequence[tuple[int, Counters | None]]) -> bool:
    """Whether pages wait for an item, or take their turns after it has opened."""
    known = [counters for _item_id, counters in items if counters is not None]
    return any(counters.now_ms < counters.opens_ms + SPREAD_MS_MAX for counters in known)


def item_figures(counters: Counters | None) -> dict[str, Any]:
    """The figures, which stay the same until the item or its phase changes."""
    if counters is None:
        names = ("quantity", "per_buyer_max", "left", "held", "sold", "opens_at", "closes_at", "pause_note")
        unknown = dict.fromkeys(names)
        return {"phase": None, "availability": "unavailable", **unknown}
    phase = counters.phase
    return {
        "phase": phase,
        "availability": availability_of(counters),
        "quantity": counters.quantity,
        "per_buyer_max": counters.per_buyer_max,
        "left": counters.left,
        "held": counters.held,
        "sold": counters.sold,
        "opens_at": rfc3339(counters.opens_ms),
        "closes_at": rfc3339(counters.closes_ms),
        "pause_note": counters.pause_note if phase is Phase.PAUSED else None,
    }


def may_have_given_back(counters: Counters) -> bool:
    """Whether PostgreSQL must be asked what the item had offered.

    While units are left after the end, they have not gone back to the stock, but for the second in which those of a
    late hold wait for it.
    """
    return counters.phase is Phase.ENDED and counters.left == 0


def with_units_offered(counters: Counters | None, offered: int | None) -> Counters | None:
    """After the end, the quantity is how many units the sale had: the unsold ones leave the store for the stock.

    `offered` None: that is not known, or the item is unlimited.
    """
    if counters is None or offered is None or counters.phase is not Phase.ENDED:
        return counters
    return replace(counters, quantity=offered)


def live_etag(body: dict[str, Any]) -> str:
    """The ETag of a body of `live`. It depends on the figures alone: with the times, no two would be the same."""
    other = ("server_time", "poll_after_ms", "opening_spread_ms")
    figures = {name: value for name, value in body.items() if name not in other}
    return quote_etag(blake2b(json.dumps(figures).encode(), digest_size=12).hexdigest())


def availability_of(counters: Counters) -> str:
    """Whether units are left, regardless of the phase; `unavailable` while the store refuses new reservations."""
    if counters.left is not None and counters.left <= 0:
        return "held_by_others" if counters.held > 0 else "sold_out"
    if counters.backlog_full:
        return "unavailable"
    return "unlimited" if counters.left is None else "available"


def poll_ms(counters: Counters | None) -> int:
    """How long a page should wait before it asks again."""
    if counters is None:
        return 2 * POLL_MS
    if counters.phase is Phase.ENDED:
        return POLL_SLOWLY_MS
    if counters.phase is Phase.UPCOMING:
        until_near_ms = counters.opens_ms - FAR_FROM_OPENING_MS - counters.now_ms
        return min(max(until_near_ms, POLL_MS), POLL_SLOWLY_MS)
    return POLL_MS


def jitter_ms(wait_ms: int, *, now_ms: int) -> int:
    """`wait_ms`, or up to a quarter more, so that clients who asked together do not come back together.

    The wait depends on the millisecond of the answer, which is in the answer too: so the gate and the views give the
    same wait for the same time, and a test can compute it.
    """
    return wait_ms + now_ms * JITTER_STEP % (wait_ms // 4)


def jitter_seconds(wait_seconds: int, *, now_ms: int) -> int:
    """`wait_seconds`, or up to a half more, in whole seconds as Retry-After has them. Otherwise as `jitter_ms`."""
    return wait_seconds + now_ms * JITTER_STEP // 1000 % (wait_seconds // 2 + 1)
