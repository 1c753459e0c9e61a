"""Changes of a running sale: written to the journal first, then applied in the store, then in PostgreSQL.

A change starts as a pending row of the journal. After the store's answer it becomes applied or refused, in the same
transaction that updates the item or the sale. If the process is killed in between, the row stays pending and
`sweep_changes` repeats the call; the store applies each operation once. Changes of one item are applied in the order
of their ids.

`SaleItem.quantity` contains added units before the store has them, and withdrawn units until the store has removed
them. So PostgreSQL never refuses what the store has admitted.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid4, uuid5

import structlog
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from seckill import ledger
from seckill.changes.effect import adjustment_of, count_returned, finish
from seckill.changes.pauses import put_note, take_note_away
from seckill.changes.rules import (
    OF_ITEM,
    CannotChange,
    ChangeRequest,
    Kind,
    check_rules,
    returned_units,
    state_after_pending,
)
from seckill.items.lock import item_lock
from seckill.items.loop import for_each_item
from seckill.ledger_words import Adjusted
from seckill.line.waiting_list import then_hand_on
from seckill.models import Sale, SaleChange, SaleItem, reference_of
from seckill.store import durability
from seckill.store.client import StoreUnreachable
from shop import failpoints
from shop.background import outages
from shop.databases.database_clock import database_now
from shop.models import StockChange, Variant
from shop.stock.movements import NotEnoughUnits, move
from shop.times.timestamps import to_ms

log = structlog.get_logger(__name__)

Status = SaleChange.Status

# How long the caller waits for its change; the sweep applies the rest. A store that does not answer takes 0.9 s of it
# for one item (shop/settings.py).
APPLY_SECONDS_MAX = 1.5

ENDINGS = (Kind.MOVE_END, Kind.END_NOW)


def make_change(
    *,
    kind: SaleChange.Kind,
    reason: str,
    made_by: User | None,
    sale_id: int | None = None,
    item_id: int | None = None,
    units: int | None = None,
    closes_at: datetime | None = None,
    public_note: Mapping[str, str] | None = None,
    token: UUID | None = None,
    on_new: Callable[[Sequence[SaleChange]], object] = lambda changes: None,
) -> list[SaleChange]:
    """Change an item (`item_id`: units, units per buyer, its own pause) or all items of a sale (`sale_id`: pause,
    resume, end). `public_note` is what buyers read during a pause, by the code of its language.

    The only way to change a running sale. Returns the entries of the journal: applied, refused with the figures in
    `outcome`, or pending where the store does not answer now. A second call with the same `token` makes no second
    change. `on_new` is called with the new entries, in the transaction that writes them. Raises CannotChange.
    """
    request = ChangeRequest(
        kind=kind, reason=reason.strip(), units=units, closes_at=closes_at, public_note=dict(public_note or {})
    )
    # Before the transaction, so that no row is locked while waiting for a store.
    if kind in (Kind.RESUME, Kind.RESUME_ITEM) and (refusal := durability.reason_to_refuse()):
        raise CannotChange(refusal)
    changes = record_pending(request, sale_id=sale_id, item_id=item_id, made_by=made_by, token=token, on_new=on_new)
    return apply_now(changes)


def record_pending(
    request: ChangeRequest,
    *,
    made_by: User | None,
    sale_id: int | None = None,
    item_id: int | None = None,
    token: UUID | None = None,
    on_new: Callable[[Sequence[SaleChange]], object] = lambda changes: None,
) -> list[SaleChange]:
    """In one transaction, check the rules and write pending entries to the journal. Returns them.

    The sale's row is locked, so the ids of a sale's entries are in the order in which they were made.
    """
    affected = affected_items(request.kind, sale_id=sale_id, item_id=item_id)
    token = token or uuid4()
    with transaction.atomic(durable=True):
        sale = Sale.objects.select_for_update(no_key=True).get(pk__in=affected.values("sale_id"))
        items = list(affected.select_related("variant__product").order_by("pk"))
        operation_ids = [uuid5(token, str(item.pk)) for item in items]
        existing = list(SaleChange.objects.filter(operation_id__in=operation_ids).order_by("pk"))
        if existing:
            return existing
        if request.kind == Kind.MOVE_END:
            # Another manager may be publishing or extending a sale of the same products.
            list(affected.select_for_update(no_key=True).order_by("pk"))
            list(Variant.objects.select_for_update(no_key=True).filter(sale_items__in=items).order_by("pk"))
        now = database_now()
        check_rules(request, sale=sale, items=items, now=now)
        if request.kind == Kind.MOVE_END and state_after_pending(sale).closes_at <= now:
            take_back_returned_units(request, items=items, made_by=made_by, token=token)
        changes = SaleChange.objects.bulk_create(
            SaleChange(
                operation_id=operation_id,
                item=item,
                kind=request.kind,
                units=request.units,
                closes_at=request.closes_at,
                reason=request.reason,
                public_note=request.public_note,
                made_by=made_by,
            )
            for item, operation_id in zip(items, operation_ids, strict=True)
        )
        if request.kind == Kind.MOVE_END:
            for item in items:
                count_returned(item)
        if request.kind == Kind.ADD_UNITS:
            # The item before its variant, as where orders end: they would wait for each other otherwise.
            affected.update(quantity=F("quantity") + request.units)
            take_out_of_stock(items[0], units=request.units or 0, made_by=made_by)
        on_new(changes)
    return changes


def take_back_returned_units(
    request: ChangeRequest, *, items: Sequence[SaleItem], made_by: User | None, token: UUID
) -> None:
    """A sale that is opened again gets back the units that went to the stock at its end, if they are still there.

    They are entries of the journal before those that move the end, so the sale opens with its units.
    """
    for item in items:
        available = Variant.objects.values_list("available", flat=True).get(pk=item.variant_id)
        if units := min(returned_units(item), available):
            take_out_of_stock(item, units=units, made_by=made_by)
            SaleItem.objects.filter(pk=item.pk).update(quantity=F("quantity") + units)
            SaleChange.objects.create(
                operation_id=uuid5(token, f"returned units of {item.pk}"),
                item=item,
                kind=Kind.ADD_UNITS,
                units=units,
                reason=request.reason,
                made_by=made_by,
            )


def take_out_of_stock(item: SaleItem, *, units: int, made_by: User | None) -> None:
    """Units added to a sale come out of the ordinary stock, as its first ones did. Raises CannotChange."""
    if not item.from_stock:
        return
    try:
        move(
            kind=StockChange.Kind.TO_SALE,
            units_of={item.variant_id: units},
            reference=reference_of(item.sale_id),
            made_by=made_by,
        )
    except NotEnoughUnits as refusal:
        raise CannotChange(
            _("Only %(available)d units of “%(product)s” are in stock.")
            % {"available": refusal.available[item.variant_id], "product": item.variant}
        ) from refusal


def affected_items(
    kind: SaleChange.Kind, *, sale_id: int | None = None, item_id: int | None = None
) -> QuerySet[SaleItem]:
    """The items that a change of this kind affects. Raises ValueError unless the id is of the right thing."""
    if kind in OF_ITEM and item_id is not None and sale_id is None:
        return SaleItem.objects.filter(pk=item_id)
    if kind not in OF_ITEM and sale_id is not None and item_id is None:
        return SaleItem.objects.filter(sale_id=sale_id)
    raise ValueError(f"{kind} is a change of {'an item' if kind in OF_ITEM else 'a sale'}")


def apply_now(changes: Sequence[SaleChange]) -> list[SaleChange]:
    """Apply these changes, and older pending ones of their items, until the time is up. Returns them reloaded."""
    deadline = time.monotonic() + APPLY_SECONDS_MAX
    for item_id in dict.fromkeys(change.item_id for change in changes):
        seconds_left = deadline - time.monotonic()
        if seconds_left <= 0:
            break
        apply_pending(item_id=item_id, wait=seconds_left)
    return list(SaleChange.objects.filter(pk__in=[change.pk for change in changes]).order_by("pk"))


def sweep_changes() -> int:
    """Apply changes that a crash or an unreachable store left pending. Returns how many.

    One query where nothing is pending.
    """
    waiting = SaleChange.objects.filter(status=Status.PENDING).order_by("item_id").values_list("item_id", flat=True)
    counts, _ = for_each_item(
        lambda item_id: apply_pending(item_id=item_id, wait=False),
        item_ids=list(waiting.distinct()),
        event="changes_not_applied",
    )
    return sum(counts.values())


def apply_pending(*, item_id: int, wait: bool | float = True) -> int:
    """Apply the item's pending changes in order, and stop at one that the store cannot take now. Returns how many.

    Holds the item's lock; `wait` is as in `item_lock`. Without the lock nothing is done.
    """
    count = 0
    with item_lock(item_id=item_id, wait=wait) as locked:
        try:
            while locked and apply_next(item_id=item_id):
                count += 1
        except StoreUnreachable as error:
            outages.wait(f"changes of item {item_id}", error)
        else:
            outages.go_on(f"changes of item {item_id}")
    return count


def apply_next(*, item_id: int) -> bool:
    """Apply the oldest pending change. False if there is none, or it cannot be applied now."""
    change = SaleChange.objects.filter(item_id=item_id, status=Status.PENDING).order_by("pk").first()
    if change is None:
        return False
    take_note_away(change)
    failpoints.reach("changes.before_store")
    then = then_hand_on(item_id)
    adjustment = adjustment_of(change)
    answer = ledger.adjust(item_id=item_id, operation_id=change.operation_id, adjustment=adjustment, then=then)
    failpoints.reach("changes.after_store")
    if answer.word == Adjusted.UNAVAILABLE:
        return False
    put_note(item_id, with_change=change)
    try:
        finish(change, answer)
    except IntegrityError as error:
        # The store withdrew units that PostgreSQL counts as taken, so it has lost data. A reconcile finds and mends it.
        log.error("change_differs_from_orders", item_id=item_id, change=change.pk, error=str(error))
        return False
    return True


def finish_interrupted(*, item_id: int, operation_ids: Collection[UUID], answer: ledger.AdjustAnswer | None) -> int:
    """Finish the changes that the store has applied although PostgreSQL does not know it yet. Returns how many.

    For a reconcile, under the item's lock, after all reservations have become orders: otherwise units that were added
    and bought would be missing in the quantity, and the orders would never fit again. `operation_ids` are the changes
    that the store has applied, `answer` its figures, None if it has lost the item. If the store has forgotten an
    addition, orders that need its units prove it.
    """
    count = 0
    while change := SaleChange.objects.filter(item_id=item_id, status=Status.PENDING).order_by("pk").first():
        in_store = answer is not None and change.operation_id in operation_ids
        if not in_store and not (change.kind == Kind.ADD_UNITS and units_are_bought(item_id=item_id)):
            return count
        figures = ledger.AdjustAnswer(Adjusted.ALREADY_APPLIED, None, None, None, None, None)
        try:
            finish(change, answer or figures)
        except IntegrityError as error:
            log.error("change_differs_from_orders", item_id=item_id, change=change.pk, error=str(error))
            return count
        count += 1
    return count


def units_are_bought(*, item_id: int) -> bool:
    """Whether orders have taken more units than there are without the additions that are still pending."""
    quantity = store_quantity(item_id=item_id)
    return quantity is not None and SaleItem.objects.filter(pk=item_id, taken__gt=quantity).exists()


def store_quantity(*, item_id: int) -> int | None:
    """The quantity without the pending changes, which a rebuild publishes. None is unlimited.

    Quantity and pending units are read in one statement: between two, a manager could add units. Call it under the
    item's lock, so that no pending change is applied meanwhile.
    """
    pending = (
        SaleChange.objects.filter(item_id=OuterRef("pk"), kind=Kind.ADD_UNITS, status=Status.PENDING)
        .order_by()
        .values("item_id")
        .annotate(units=Sum("units"))
        .values("units")
    )
    in_store = F("quantity") - Coalesce(Subquery(pending), 0)
    quantity: int | None = (
        SaleItem.objects.annotate(in_store=in_store).values_list("in_store", flat=True).get(pk=item_id)
    )
    return quantity


def store_closes_ms(*, item_id: int) -> int | None:
    """The end that the store was last told for this item; None if the end was never changed.

    *End now* ends each item of a sale at a moment of its own, and the sale has the latest of them.
    """
    told = SaleChange.objects.filter(item_id=item_id, status=Status.APPLIED, kind__in=ENDINGS)
    closes_at = told.order_by("pk").values_list("closes_at", flat=True).last()
    return to_ms(closes_at) if closes_at else None


def is_end_unknown(*, item_id: int) -> bool:
    """Whether the store has an end for this item that PostgreSQL does not know any more.

    That is so while the item waits for its first change of the end: its sale has the new end already if another item
    was changed.
    """
    changes = SaleChange.objects.filter(item_id=item_id, kind__in=ENDINGS).exclude(status=Status.REFUSED)
    return changes.exists() and not changes.filter(status=Status.APPLIED).exists()
