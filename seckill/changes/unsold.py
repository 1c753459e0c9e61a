"""Returns the unsold units of a flash sale to the ordinary stock once the sale is over.

The return is a change like those of staff: written to the journal, then applied once in the store and in PostgreSQL.
Held units stay; if their hold ends unpaid, a later sweep returns them.
"""

import structlog
from django.db.models import F
from django.db.models.functions import Now

from seckill import ledger
from seckill.changes.journal import make_change
from seckill.changes.rules import CannotChange, Kind
from seckill.items.loop import for_each_item
from seckill.models import SaleChange, SaleItem

log = structlog.get_logger(__name__)

# Kept in the journal; people read it in their own language (seckill/changes/texts.py).
REASON = "The sale has ended."


def return_unsold() -> int:
    """Return the unsold units of sales that are over. Returns how many units. Raises StoreUnreachable."""
    in_store = SaleItem.objects.filter(from_stock=True, announced_at__isnull=False, archived_at=None)
    over = in_store.filter(sale__closes_at__lte=Now(), quantity__gt=F("taken"))
    over = over.exclude(changes__status=SaleChange.Status.PENDING)
    counts, _ = for_each_item(
        return_unsold_of, item_ids=list(over.values_list("pk", flat=True)), event="unsold_units_not_returned"
    )
    return sum(counts.values())


def return_unsold_of(item_id: int) -> int:
    """Return the item's free units. Returns how many. None are free while the store has not closed the sale."""
    figures = ledger.read(item_id=item_id)
    if figures is None or not figures.left or figures.now_ms < figures.closes_ms:
        return 0
    try:
        (change,) = make_change(
            kind=Kind.RETURN_UNSOLD, item_id=item_id, units=figures.left, reason=REASON, made_by=None
        )
    except CannotChange as refusal:
        # For example, the item was archived after the query.
        log.warning("unsold_units_stay", item_id=item_id, reason=str(refusal))
        return 0
    return figures.left if change.status == SaleChange.Status.APPLIED else 0
