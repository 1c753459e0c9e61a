"""Returns the unsold units of a flash sale to the ordinary stock once the sale is over.

The return is a change like those of staff: written to the journal, then applied once in the store and in PostgreSQL.
Held units stay; if their hold ends unpaid, a later sweep returns them. An archived item is not in the store any more:
units that are refunded then are returned in PostgreSQL alone.
"""

import structlog
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from seckill import ledger
from seckill.changes.effect import count_returned, give_back_to_stock
from seckill.changes.journal import make_change
from seckill.changes.rules import CannotChange, Kind
from seckill.changes.texts import journal_outcome
from seckill.items.loop import for_each_item
from seckill.ledger_words import Adjusted
from seckill.models import Sale, SaleChange, SaleItem

log = structlog.get_logger(__name__)

# Kept in the journal; people read it in their own language (seckill/changes/texts.py).
REASON = "The sale has ended."


def return_unsold() -> int:
    """Return the unsold units of sales that are over. Returns how many units. Raises StoreUnreachable."""
    return return_from_archived() + return_from_store()


def return_from_store() -> int:
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


def return_from_archived() -> int:
    """Return the units of archived items that are in no order any more. Returns how many units."""
    archived = SaleItem.objects.filter(from_stock=True, archived_at__isnull=False, quantity__gt=F("taken"))
    return sum(return_from_archived_item(item_id) for item_id in list(archived.values_list("pk", flat=True)))


def return_from_archived_item(item_id: int) -> int:
    """Return the item's free units, unless it was brought back since. Returns how many."""
    with transaction.atomic():
        # In the order in which changes lock them: the sale, the item, the variant.
        Sale.objects.select_for_update(no_key=True, of=("self",)).get(items=item_id)
        item = SaleItem.objects.select_for_update(no_key=True).get(pk=item_id)
        if item.archived_at is None or item.quantity is None or item.quantity <= item.taken:
            return 0
        units, sold = item.quantity - item.taken, item.taken
        SaleItem.objects.filter(pk=item_id).update(quantity=sold)
        figures = ledger.AdjustAnswer(Adjusted.ADJUSTED, quantity=sold, left=0, held=0, sold=sold, closes_ms=None)
        change = SaleChange.objects.create(
            item=item,
            kind=Kind.RETURN_UNSOLD,
            units=units,
            reason=REASON,
            status=SaleChange.Status.APPLIED,
            finished_at=timezone.now(),
            outcome=journal_outcome(figures),
        )
        count_returned(item)
        give_back_to_stock(change)
    return units
