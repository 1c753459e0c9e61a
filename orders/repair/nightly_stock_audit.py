"""The audit of the ordinary stock that runs by itself, once a night, and its last result for /metrics.

A sweep asks every ten minutes whether it is due. So it does not matter when beat was started, and a night in which
nothing ran is made up for.
"""

from datetime import timedelta

import structlog
from django.core.cache import cache
from django.utils import timezone

from orders.repair.stock_audit import audit_stock

log = structlog.get_logger(__name__)

RESULT_KEY = "orders.repair.last_stock_audit"
# By the shop's own zone: few people buy.
HOUR = 3
AT_NIGHT_AFTER = timedelta(hours=12)
AT_ANY_HOUR_AFTER = timedelta(hours=30)
NAMED_MAX = 20


def audit_stock_if_due() -> int:
    """Returns how many figures differ, which must be 0; 0 too if it is not due. Raises database errors."""
    if not is_due():
        return 0
    audit = audit_stock()
    if audit.differences:
        named = [str(difference) for difference in audit.differences[:NAMED_MAX]]
        log.error("stock_differs", figures=len(audit.differences), differences=named)
    cache.set(RESULT_KEY, {"at_s": timezone.now().timestamp(), "differences": len(audit.differences)}, timeout=None)
    return len(audit.differences)


def is_due() -> bool:
    last = cache.get(RESULT_KEY)
    if last is None:
        return True
    # A worker whose clock was put right since may have left a time that is years ahead.
    age = abs(timedelta(seconds=timezone.now().timestamp() - last["at_s"]))
    return age > AT_ANY_HOUR_AFTER or (timezone.localtime().hour == HOUR and age > AT_NIGHT_AFTER)


def stock_differences() -> int | None:
    """What the last audit found; None if there was none."""
    last = cache.get(RESULT_KEY)
    return None if last is None else int(last["differences"])
