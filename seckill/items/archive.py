"""Archived items: sales that were over long ago leave the reservation store, and PostgreSQL alone has their figures.

`orders/repair/archiving.py` archives them; `manage.py sale_rebuild` brings one back. `SaleItem.archived_at` says which
items are archived. Setting or clearing it locks the row of the item; setting it also locks the row of the sale. So the
archiving either sees a change of the sale, or the change is refused.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from seckill import ledger
from seckill.items import item_state
from seckill.ledger import Counters
from seckill.models import LONGEST_HOLD, SaleItem, movable_items
from shop.times.timestamps import to_ms

log = structlog.get_logger(__name__)

# How long a process remembers whether an item is archived.
REMEMBERED_SECONDS = 10.0


def archive_after() -> timedelta:
    """How long after its end a sale is archived: first its last hold must have ended."""
    return LONGEST_HOLD + timedelta(seconds=settings.SECKILL_ARCHIVE_AFTER_SECONDS)


def retired_items() -> QuerySet[SaleItem]:
    """The items in the store whose counters can no longer change, and for which no change waits."""
    return SaleItem.objects.filter(announced_at__isnull=False, archived_at=None).exclude(pk__in=movable_items())


def archivable_items() -> QuerySet[SaleItem]:
    """The retired items that have been over for `archive_after`, or were brought back that long ago."""
    since = Now() - archive_after()
    return retired_items().filter(sale__closes_at__lte=since, announced_at__lte=since)


def bring_back(*, item_id: int) -> bool:
    """Note that an archived item is to be in the store again. False if it is not archived.

    The caller rebuilds it. If that does not happen, the sweep does it, since the item counts as movable again.
    """
    archived = SaleItem.objects.filter(pk=item_id, archived_at__isnull=False)
    return archived.update(archived_at=None, announced_at=Now()) == 1


def counters_of(items: Sequence[SaleItem]) -> dict[int, Counters | None]:
    """Each item's terms and counters: for archived items from PostgreSQL, for others from the store in one round trip
    for each server. The items need their sale.

    Items of a server that is silent are missing; None means that the item is not there or not verified. Raises
    StoreUnreachable if no server answers that has one of them.
    """
    in_store = [item.pk for item in items if item.archived_at is None]
    found = ledger.read_many(item_ids=in_store) if in_store else {}
    now = timezone.now()
    return found | {item.pk: counters_outside_store(item, now=now) for item in items if item.archived_at is not None}


def find_archived(*, item_id: int) -> Counters | None:
    """The final counters of an archived item; None if it is not archived, or PostgreSQL does not answer.

    Call it for an item that the ledger cannot read. The answer may be some seconds old. Raises StoreUnreachable.
    """
    try:
        item = archived_item(item_id, period=int(time.monotonic() // REMEMBERED_SECONDS))
    except DatabaseError as error:
        log.warning("archive_not_read", item_id=item_id, error=str(error))
        return None
    return counters_outside_store(item, now=timezone.now()) if item else None


@lru_cache(maxsize=1000)
def archived_item(item_id: int, *, period: int) -> SaleItem | None:
    """Remembered for a `period`: while a store is lost, open pages must not ask PostgreSQL once a second each.

    An item that the store has is only unverified at the moment, so PostgreSQL is not asked about it.
    """
    if item_state.terms(item_id=item_id):
        return None
    return SaleItem.objects.select_related("sale").filter(archived_at__isnull=False, pk=item_id).first()


def counters_outside_store(item: SaleItem, *, now: datetime) -> Counters:
    """The counters of an archived item, or of a draft's: nothing is held, and `taken` was sold."""
    return Counters(
        now_ms=to_ms(now),
        opens_ms=to_ms(item.sale.opens_at),
        closes_ms=to_ms(item.sale.closes_at),
        hold_ms=item.sale.hold_seconds * 1000,
        per_buyer_max=item.per_buyer_max,
        price_minor=item.price_minor,
        currency=settings.CURRENCY,
        state="paused" if item.is_paused else "open",
        quantity=item.quantity,
        left=None if item.quantity is None else item.quantity - item.taken,
        held=0,
        sold=item.taken,
        reservations=item.taken,
    )
