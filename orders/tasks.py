"""Celery's doorbells. No message carries data that stands nowhere else: a lost or doubled task does no harm."""

import time

import structlog
from celery import shared_task

from orders import intake, lifecycle, mails
from seckill import outbox
from seckill.ledger import StoreUnreachable
from seckill.models import SaleItem
from seckill.publication import announce_pending

log = structlog.get_logger(__name__)

# A task hands its worker back after this long; the next sweep goes on. Far below the time limit of 60 s.
BUDGET_SECONDS = 20.0


@shared_task
def drain_outbox(*, item_id: int) -> int:
    """Bring the item's outbox into PostgreSQL until it is empty. Rung by seckill/doorbell.py and by the sweep."""
    started, count = time.monotonic(), 0
    while time.monotonic() - started < BUDGET_SECONDS:
        handled = intake.drain_once(item_id=item_id)
        count += handled
        if not handled:
            break
    return count


@shared_task
def sweep_outboxes() -> int:
    """Every second: publish what a crash left unpublished, and drain what no doorbell announced."""
    try:
        announce_pending()
        item_ids = list(SaleItem.objects.filter(announced_at__isnull=False).values_list("pk", flat=True))
        return sum(drain_outbox(item_id=item_id) for item_id in outbox.backlogs(item_ids=item_ids))
    except StoreUnreachable as error:
        # What waits there waits on; a traceback every second would only hide the log of the store itself.
        log.warning("sweep_waits_for_store", error=str(error))
        return 0


@shared_task
def expire_overdue() -> int:
    """Every second: put the units of unpaid orders past their deadline back on sale."""
    started, count = time.monotonic(), 0
    while time.monotonic() - started < BUDGET_SECONDS:
        expired = lifecycle.expire_overdue()
        count += expired
        if not expired:
            break
    return count


@shared_task
def settle_orders() -> int:
    """Every second: tell the reservation store what a crash or its own absence left unsaid."""
    return lifecycle.settle_orders()


@shared_task
def send_mails() -> int:
    """Every few seconds: send the mails that are due, for at most `BUDGET_SECONDS`."""
    return mails.send_due(seconds_max=BUDGET_SECONDS)
