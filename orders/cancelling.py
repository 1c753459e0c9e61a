"""A buyer cancels an order. Whoever cancels again and again has to wait: each time, others see the units come and go.

Cancels are counted for each buyer and item in the cache server, by the library `limits`. While that server is away
everybody is let through. An order that cannot be cancelled now ends by itself at its deadline.
"""

import math
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import caches
from django.utils.translation import gettext as _
from limits import parse
from limits.errors import StorageError
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter

from orders import lifecycle
from orders.models import Order, OrderStatus
from shop.time_left import duration

log = structlog.get_logger(__name__)


class CancelOutcome(StrEnum):
    """What became of a cancellation, in the order of the checks."""

    NOT_AWAITING_PAYMENT = "not_awaiting_payment"
    TOO_OFTEN = "cancelled_too_often"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class CancelAnswer:
    """The outcome. `retry_after_seconds` is set if the buyer cancelled too often."""

    outcome: CancelOutcome
    retry_after_seconds: int = 0


def cancel(*, order: Order) -> CancelAnswer:
    """Cancel an unpaid order for its buyer, and put its units back on sale."""
    if order.status != OrderStatus.AWAITING_PAYMENT:
        return CancelAnswer(CancelOutcome.NOT_AWAITING_PAYMENT)
    for line in order.lines.all():
        if line.sale_item_id and (wait_seconds := count_cancel(buyer_id=order.buyer_id, item_id=line.sale_item_id)):
            return CancelAnswer(CancelOutcome.TOO_OFTEN, retry_after_seconds=wait_seconds)
    cancelled = lifecycle.cancel(order_id=order.pk)
    return CancelAnswer(CancelOutcome.CANCELLED if cancelled else CancelOutcome.NOT_AWAITING_PAYMENT)


def too_often_text(answer: CancelAnswer) -> str:
    """For the buyer: what to do instead."""
    return _(
        "You have cancelled orders for this item several times. You can cancel again in %(time)s. You do not have to "
        "do anything: an order that is not paid ends at its payment deadline, and nothing is charged."
    ) % {"time": duration(answer.retry_after_seconds)}


def count_cancel(*, buyer_id: int, item_id: int) -> int:
    """0 if one more was counted; otherwise the seconds until there is room for one."""
    rate = parse(settings.CANCEL_LIMIT)
    key = ("cancel", str(buyer_id), str(item_id))
    try:
        cache_server: Any = caches["default"]
        limiter = limiter_in(cache_server.client.get_client(write=True).connection_pool)
        if limiter.hit(rate, *key):
            return 0
        seconds_left = limiter.get_window_stats(rate, *key).reset_time - time.time()
    except StorageError as error:
        log.warning("cancels_not_counted", error=repr(error))
        return 0
    return min(max(1, math.ceil(seconds_left)), rate.get_expiry())


@lru_cache(maxsize=4)
def limiter_in(pool: Any) -> MovingWindowRateLimiter:
    """Counts through the pool of Django's cache, with its timeouts. The address is not used where a pool is given."""
    return MovingWindowRateLimiter(RedisStorage("redis://", connection_pool=pool, wrap_exceptions=True))
