"""What a change does: to the reservation store, and after the store's answer to the rows of PostgreSQL."""

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from seckill import ledger
from seckill.changes.rules import OF_ITEM, Kind
from seckill.changes.texts import outcome_text
from seckill.ledger_words import Adjusted
from seckill.models import Sale, SaleChange, SaleItem
from seckill.timestamps import from_ms, to_ms

log = structlog.get_logger(__name__)

Status = SaleChange.Status


def adjustment_of(change: SaleChange) -> ledger.Adjustment:
    """The change as the store's script takes it."""
    units = change.units or 0
    match change.kind:
        case Kind.ADD_UNITS:
            return ledger.Adjustment(units=units)
        case Kind.WITHDRAW_UNITS:
            return ledger.Adjustment(units=-units)
        case Kind.PAUSE:
            return ledger.Adjustment(state="paused")
        case Kind.RESUME:
            return ledger.Adjustment(state="open")
        case Kind.MOVE_END if change.closes_at:
            return ledger.Adjustment(closes_ms=to_ms(change.closes_at))
        case Kind.END_NOW:
            return ledger.Adjustment(closes_ms="now")
        case Kind.UNITS_PER_BUYER:
            return ledger.Adjustment(per_buyer_max=units)
    raise ValueError(f"an entry of the journal that says nothing: {change.pk}")


def finish(change: SaleChange, answer: ledger.AdjustAnswer) -> None:
    """One transaction: the entry becomes applied or refused, and PostgreSQL comes to say what the store says.

    Raises IntegrityError where PostgreSQL knows of more units taken than would remain.
    """
    applied = answer.word in (Adjusted.ADJUSTED, Adjusted.ALREADY_APPLIED)
    moved: dict[str, Any] = {
        "status": Status.APPLIED if applied else Status.REFUSED,
        "finished_at": timezone.now(),
        "outcome": outcome_text(answer),
    }
    if change.kind == Kind.END_NOW and answer.closes_ms is not None:
        moved["closes_at"] = from_ms(answer.closes_ms)
    with transaction.atomic():
        # Items of one sale may be finished at once by several processes: one after the other, to read each other's.
        sale = Sale.objects.select_for_update(no_key=True, of=("self",)).get(items=change.item_id)
        if SaleChange.objects.filter(pk=change.pk, status=Status.PENDING).update(**moved) != 1:
            return
        if change.kind in OF_ITEM:
            move_item(change, applied=applied)
        elif applied:
            move_sale(sale)
    log.info("sale_changed", item_id=change.item_id, change=change.kind, status=moved["status"].value)


def move_item(change: SaleChange, *, applied: bool) -> None:
    """The item's terms. Units that are added stand in `quantity` since the change was made."""
    item = SaleItem.objects.filter(pk=change.item_id)
    if change.kind == Kind.UNITS_PER_BUYER and applied:
        item.update(per_buyer_max=change.units)
    if (change.kind == Kind.WITHDRAW_UNITS) == applied and change.kind != Kind.UNITS_PER_BUYER:
        item.update(quantity=F("quantity") - change.units)


def move_sale(sale: Sale) -> None:
    """What the applied entries say of the sale, by their ids: its items are told at different times."""
    applied = SaleChange.objects.filter(item__sale=sale, status=Status.APPLIED)
    last = applied.filter(kind__in=(Kind.PAUSE, Kind.RESUME)).order_by("pk").last()
    if last:
        Sale.objects.filter(pk=sale.pk).update(paused=last.kind == Kind.PAUSE)
    if closes_at := end_of(sale):
        # The two clocks may differ, and the schema wants the end after the beginning.
        Sale.objects.filter(pk=sale.pk).update(closes_at=max(closes_at, sale.opens_at + timedelta(milliseconds=1)))


def end_of(sale: Sale) -> datetime | None:
    """The end as it was last moved; of the items that were ended since, that of the last. None where it never was."""
    applied = SaleChange.objects.filter(item__sale=sale, status=Status.APPLIED)
    moved = applied.filter(kind=Kind.MOVE_END).order_by("pk").last()
    ended = applied.filter(kind=Kind.END_NOW, pk__gt=moved.pk if moved else 0)
    closes_at: datetime | None = ended.aggregate(last=Max("closes_at"))["last"]
    return closes_at or (moved.closes_at if moved else None)
