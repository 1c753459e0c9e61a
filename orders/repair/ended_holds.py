"""Forgets ended holds: a buyer who reserves and cancels again and again must not fill the reservation store.

A hold that has ended is kept while its pass may still be used, so that the pass is told `hold_ended` and reserves
nothing a second time. It is also kept while the pass has a place in the item's line, so that hand_on.lua gives it
nothing a second time. After that PostgreSQL alone remembers it. Each run looks at one portion of an item's holds, and
the next run at the one behind it.
"""

import time
from uuid import UUID

import structlog
from django.core.cache import cache

from orders.models import Order
from orders.repair.reconcile import expected_state
from seckill import ledger
from seckill.items import item_state
from seckill.items.loop import for_each_item, until
from seckill.ledger_words import Forgotten, RestoreAs
from seckill.line import line_ledger
from seckill.models import movable_items
from seckill.passes import passes

log = structlog.get_logger(__name__)

# After this long without a run, an item's holds are looked through from the start.
CURSOR_KEPT_SECONDS = 24 * 3600


def forget_ended_holds(*, seconds_max: float) -> int:
    """Look through one portion of the holds of each item that can change. Returns how many were forgotten.

    The order is random, so that every item has its turn even if the time is too short for all. Raises StoreUnreachable.
    """
    ends_s = time.monotonic() + seconds_max
    item_ids = list(movable_items().order_by("?").values_list("pk", flat=True))
    try:
        cursors = cache.get_many([cursor_key(item_id) for item_id in item_ids])
    except Exception as error:
        # Any fault of the cache server. The holds can wait.
        log.warning("forgetting_waits_for_cache", error=repr(error))
        return 0

    def forget_next_portion(item_id: int) -> int:
        forgotten, next_cursor = forget_portion(item_id=item_id, cursor=cursors.get(cursor_key(item_id), 0))
        cache.set(cursor_key(item_id), next_cursor, CURSOR_KEPT_SECONDS)
        return forgotten

    counts, _ = for_each_item(forget_next_portion, item_ids=until(ends_s, item_ids), event="holds_not_forgotten")
    return sum(counts.values())


def cursor_key(item_id: int) -> str:
    return f"orders.ended_holds.{item_id}"


def forget_portion(*, item_id: int, cursor: int) -> tuple[int, int]:
    """Forget those holds of one portion that can be forgotten. Returns how many, and the next cursor."""
    next_cursor, holds = item_state.portion_of_holds(item_id=item_id, cursor=cursor)
    ended = {
        UUID(name): hold.buyer_id
        for name, hold in holds.items()
        if hold is not None and hold.state == "ended" and passes.is_useless(deadline_ms=hold.deadline_ms)
    }
    # A hold whose order says otherwise is a difference, which the audit reports; one without an order was rejected.
    kept = {
        order.reservation_id
        for order in Order.objects.filter(reservation_id__in=ended)
        if order.reservation_id and (order.settled_at is None or expected_state(order) is not RestoreAs.ENDED)
    }
    kept |= line_ledger.ids_in_line(item_id=item_id, buyer_ids=ended)
    keep_ms = passes.life_after_deadline_ms()
    answers = ledger.forget(item_id=item_id, reservation_ids=sorted(ended.keys() - kept), keep_ms=keep_ms)
    return answers.count(Forgotten.FORGOTTEN), next_cursor
