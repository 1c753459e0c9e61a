"""The effect of a change: first in the reservation store, then, after the store's answer, in PostgreSQL."""

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from seckill import ledger
from seckill.changes.pauses import OF_ITEM_ALONE, state_after
from seckill.changes.rules import OF_ITEM, Kind, returned_units
from seckill.changes.texts import journal_outcome
from seckill.ledger_words import Adjusted
from seckill.models import Sale, SaleChange, SaleItem, reference_of
from shop.models import StockChange
from shop.stock.movements import move
from shop.times.timestamps import from_ms, to_ms

log = structlog.get_logger(__name__)

Status = SaleChange.Status


def adjustment_of(change: SaleChange) -> ledger.Adjustment:
    """The change as an argument of `ledger.adjust`."""
    units = change.units or 0
    match change.kind:
        case Kind.ADD_UNITS:
            return ledger.Adjustment(units=units)
        case Kind.WITHDRAW_UNITS | Kind.RETURN_UNSOLD:
            return ledger.Adjustment(units=-units)
        case Kind.PAUSE | Kind.RESUME | Kind.PAUSE_ITEM | Kind.RESUME_ITEM:
            return ledger.Adjustment(state=state_after(change))
        case Kind.MOVE_END if change.closes_at:
            return ledger.Adjustment(closes_ms=to_ms(change.closes_at))
        case Kind.END_NOW:
            return ledger.Adjustment(closes_ms="now")
        case Kind.PACE:
            # The room's pace is read from PostgreSQL; the store only notes that the change was made.
            return ledger.Adjustment()
        case Kind.UNITS_PER_BUYER:
            return ledger.Adjustment(per_buyer_max=units)
    raise ValueError(f"journal entry {change.pk} is incomplete")


def finish(change: SaleChange, answer: ledger.AdjustAnswer) -> None:
    """In one transaction, mark the entry as applied or refused, and bring PostgreSQL into line with the store.

    Raises IntegrityError if orders have taken more units than would remain.
    """
    applied = answer.word in (Adjusted.ADJUSTED, Adjusted.ALREADY_APPLIED)
    result: dict[str, Any] = {
        "status": Status.APPLIED if applied else Status.REFUSED,
        "finished_at": timezone.now(),
        "outcome": journal_outcome(answer),
    }
    if change.kind == Kind.END_NOW and answer.closes_ms is not None:
        result["closes_at"] = from_ms(answer.closes_ms)
    with transaction.atomic():
        # Several processes may finish items of one sale at once. The lock makes each see what the others wrote.
        sale = Sale.objects.select_for_update(no_key=True, of=("self",)).get(items=change.item_id)
        if SaleChange.objects.filter(pk=change.pk, status=Status.PENDING).update(**result) != 1:
            return
        if change.kind in OF_ITEM:
            update_item(change, applied=applied)
        elif applied:
            update_sale(sale)
    log.info("sale_changed", item_id=change.item_id, change=change.kind, status=result["status"].value)


def update_item(change: SaleChange, *, applied: bool) -> None:
    """Update the item's terms. `quantity` contains added units since the change was made."""
    item = SaleItem.objects.filter(pk=change.item_id)
    if change.kind in (Kind.UNITS_PER_BUYER, *OF_ITEM_ALONE):
        if applied and change.kind == Kind.UNITS_PER_BUYER:
            item.update(per_buyer_max=change.units)
        elif applied:
            item.update(paused=change.kind == Kind.PAUSE_ITEM)
        return
    added = change.kind == Kind.ADD_UNITS
    if added != applied:
        # The units were withdrawn, or the store refused to add them.
        item.update(quantity=F("quantity") - change.units)
        if change.kind == Kind.RETURN_UNSOLD:
            count_returned(change.item)
        give_back_to_stock(change)


def count_returned(item: SaleItem) -> None:
    """What was offered stays known: the journal counts the units that left the sale since its end."""
    SaleItem.objects.filter(pk=item.pk).update(returned=returned_units(item))


def give_back_to_stock(change: SaleChange) -> None:
    """The units leave the sale, and are on sale in the shop again."""
    item = SaleItem.objects.get(pk=change.item_id)
    if item.from_stock:
        move(
            kind=StockChange.Kind.FROM_SALE,
            units_of={item.variant_id: change.units or 0},
            reference=reference_of(item.sale_id),
            made_by=change.made_by,
        )


def update_sale(sale: Sale) -> None:
    """Derive the sale's fields from the applied entries, by their ids: items are changed at different times."""
    applied = SaleChange.objects.filter(item__sale=sale, status=Status.APPLIED)
    last = applied.filter(kind__in=(Kind.PAUSE, Kind.RESUME)).order_by("pk").last()
    if last:
        Sale.objects.filter(pk=sale.pk).update(paused=last.kind == Kind.PAUSE)
    if pace := applied.filter(kind=Kind.PACE).order_by("pk").last():
        Sale.objects.filter(pk=sale.pk).update(pace=pace.units)
    if closes_at := applied_end(sale):
        # The clocks of store and PostgreSQL may differ, and a constraint wants the end after the opening.
        Sale.objects.filter(pk=sale.pk).update(closes_at=max(closes_at, sale.opens_at + timedelta(milliseconds=1)))


def applied_end(sale: Sale) -> datetime | None:
    """The latest end of the items ended since the end was last moved, else the moved end. None if neither happened."""
    applied = SaleChange.objects.filter(item__sale=sale, status=Status.APPLIED)
    moved = applied.filter(kind=Kind.MOVE_END).order_by("pk").last()
    ended = applied.filter(kind=Kind.END_NOW, pk__gt=moved.pk if moved else 0)
    closes_at: datetime | None = ended.aggregate(last=Max("closes_at"))["last"]
    return closes_at or (moved.closes_at if moved else None)
