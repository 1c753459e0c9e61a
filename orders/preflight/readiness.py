"""In the hour before a sale opens, its pre-flight is repeated by itself.

A worker that waited for its own queue's message might wait for itself. So one sweep sends the messages, and a later one
makes the looks.
"""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID, uuid4

import structlog
from django.core.cache import cache
from django.utils import timezone

from orders.preflight import canaries
from orders.preflight.kept import RUN_SECONDS, Result, keep_result, last_result
from orders.preflight.preflight import LOOKS, findings_of
from seckill.models import Sale
from shop.background.outages import AWAY

log = structlog.get_logger(__name__)

BEFORE_OPENING = timedelta(hours=1)
# Often enough to mend something before the opening, seldom enough for a payment provider that is asked each time.
AGAIN = timedelta(minutes=5)


def judge_coming_sales() -> int:
    """Judge the published sales that open within the hour and are due. Returns their number. Raises AWAY."""
    now = timezone.now()
    coming = Sale.objects.filter(published_at__isnull=False, opens_at__gt=now, opens_at__lte=now + BEFORE_OPENING)
    count = 0
    for sale in coming.order_by("opens_at", "pk"):
        try:
            count += judge_if_due(sale)
        except AWAY:
            raise
        except Exception:
            log.exception("sale_not_judged", sale_id=sale.pk)
    return count


def judge_if_due(sale: Sale) -> bool:
    before = last_result(sale.pk)
    if before and timezone.now() - before.at < AGAIN:
        return False
    run = cache.get(run_key(sale.pk))
    if run is None:
        run = uuid4()
        canaries.send(run)
        cache.set(run_key(sale.pk), str(run), RUN_SECONDS)
        return False
    silent = canaries.waiting_queues(UUID(run))
    if silent and canaries.may_still_come(UUID(run)):
        return False
    found = {number: list(findings_of(look, sale, silent=silent)) for number, look in enumerate(LOOKS)}
    report(sale, keep_result(sale.pk, found), before)
    cache.delete(run_key(sale.pk))
    return True


def report(sale: Sale, result: Result, before: Result | None) -> None:
    """Log the stops if there are more of them than before."""
    known: Mapping[int, int] = before.stops_of_looks if before else {}
    if any(stops > known.get(number, 0) for number, stops in result.stops_of_looks.items()):
        texts = [str(stop.text) for stop in result.stops]
        log.error("sale_not_ready", sale_id=sale.pk, opens_at=sale.opens_at.isoformat(), stops=texts)


def run_key(sale_id: int) -> str:
    return f"preflight-due:{sale_id}"
