"""Changes of a running sale: written into the journal first, then applied to the store, then to the truth.

A change is a pending row of the journal before the store hears of it, and applied or refused after the store's answer,
in the transaction that moves the item or the sale in PostgreSQL. Killed in between, the row stays pending and
`sweep_changes` repeats the call; the store applies an operation once. Changes of an item are applied one after the
other, in the order of their ids.

Units that are added are in `SaleItem.quantity` from the beginning, those withdrawn until the store has given them up:
PostgreSQL never refuses what the store admits.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID, uuid4, uuid5

import structlog
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.db.models import F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from seckill import durability, ledger
from seckill.changes.effect import adjustment_of, finish
from seckill.changes.rules import OF_ITEM, CannotChange, Kind, Wanted, check_rules
from seckill.item_lock import item_lock
from seckill.ledger_words import Adjusted
from seckill.models import Sale, SaleChange, SaleItem
from seckill.store import StoreUnreachable
from shop import failpoints
from shop.models import Product

log = structlog.get_logger(__name__)

Status = SaleChange.Status

# How long the person who made a change waits for it; what is not done by then is done by the sweep. A store that does
# not answer takes 0.9 s of it for one item (shop/settings.py).
PATIENCE_SECONDS = 1.5


def make_change(
    *,
    kind: SaleChange.Kind,
    reason: str,
    made_by: User | None,
    sale_id: int | None = None,
    item_id: int | None = None,
    units: int | None = None,
    closes_at: datetime | None = None,
    token: UUID | None = None,
    on_new: Callable[[Sequence[SaleChange]], object] = lambda changes: None,
) -> list[SaleChange]:
    """Change an item (`item_id`: units, units per buyer) or all items of a sale (`sale_id`: pause, resume, end).

    The only way to change a running sale. Returns the entries of the journal as they stand: applied, refused with the
    figures in `outcome`, or pending where the store cannot be asked now. A second call with the same `token` makes no
    second change; `on_new` is called with new entries alone, in the transaction that writes them. Raises CannotChange.
    """
    wanted = Wanted(kind=kind, reason=reason.strip(), units=units, closes_at=closes_at)
    # Before the transaction: no row stays locked while a store is asked.
    if kind == Kind.RESUME and (objection := durability.objection()):
        raise CannotChange(objection)
    changes = write_down(wanted, sale_id=sale_id, item_id=item_id, made_by=made_by, token=token, on_new=on_new)
    return carry_out(changes)


def write_down(
    wanted: Wanted,
    *,
    made_by: User | None,
    sale_id: int | None = None,
    item_id: int | None = None,
    token: UUID | None = None,
    on_new: Callable[[Sequence[SaleChange]], object] = lambda changes: None,
) -> list[SaleChange]:
    """One transaction: check the rules, put pending entries into the journal. Returns them.

    The sale's row is locked, so the entries of one sale have ids in the order in which they were made.
    """
    concerned = concerned_by(wanted.kind, sale_id=sale_id, item_id=item_id)
    token = token or uuid4()
    with transaction.atomic(durable=True):
        sale = Sale.objects.select_for_update(no_key=True).get(pk__in=concerned.values("sale_id"))
        items = list(concerned.select_related("product").order_by("pk"))
        operation_ids = [uuid5(token, str(item.pk)) for item in items]
        made_before = list(SaleChange.objects.filter(operation_id__in=operation_ids).order_by("pk"))
        if made_before:
            return made_before
        if wanted.kind == Kind.MOVE_END:
            # Another manager may be publishing or extending a sale of the same products.
            list(Product.objects.select_for_update(no_key=True).filter(sale_items__in=items).order_by("pk"))
        check_rules(wanted, sale=sale, items=items, now=database_now())
        changes = SaleChange.objects.bulk_create(
            SaleChange(
                operation_id=operation_id,
                item=item,
                kind=wanted.kind,
                units=wanted.units,
                closes_at=wanted.closes_at,
                reason=wanted.reason,
                made_by=made_by,
            )
            for item, operation_id in zip(items, operation_ids, strict=True)
        )
        if wanted.kind == Kind.ADD_UNITS:
            concerned.update(quantity=F("quantity") + wanted.units)
        on_new(changes)
    return changes


def concerned_by(
    kind: SaleChange.Kind, *, sale_id: int | None = None, item_id: int | None = None
) -> QuerySet[SaleItem]:
    """The items that a change of this kind is about. Raises ValueError where the change is of another thing."""
    if kind in OF_ITEM and item_id is not None and sale_id is None:
        return SaleItem.objects.filter(pk=item_id)
    if kind not in OF_ITEM and sale_id is not None and item_id is None:
        return SaleItem.objects.filter(sale_id=sale_id)
    raise ValueError(f"{kind} is a change of {'an item' if kind in OF_ITEM else 'a sale'}")


def carry_out(changes: Sequence[SaleChange]) -> list[SaleChange]:
    """Apply these changes, and what waits before them, as far as patience goes. Returns them as they stand then."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    for item_id in dict.fromkeys(change.item_id for change in changes):
        patience_seconds = deadline - time.monotonic()
        if patience_seconds <= 0:
            break
        apply_pending(item_id=item_id, wait=patience_seconds)
    return list(SaleChange.objects.filter(pk__in=[change.pk for change in changes]).order_by("pk"))


def sweep_changes() -> int:
    """Apply what a crash or an absent store left pending. Returns how many; one query where there is nothing."""
    waiting = SaleChange.objects.filter(status=Status.PENDING).order_by("item_id").values_list("item_id", flat=True)
    return sum(apply_pending(item_id=item_id, wait=False) for item_id in waiting.distinct())


def apply_pending(*, item_id: int, wait: bool | float = True) -> int:
    """Apply the item's pending changes in their order, up to one that the store cannot take now. Returns how many.

    Under the item's lock, for which it waits as `item_lock` does; without the lock nothing is done.
    """
    count = 0
    with item_lock(item_id=item_id, wait=wait) as held:
        try:
            while held and apply_next(item_id=item_id):
                count += 1
        except StoreUnreachable as error:
            log.warning("change_waits_for_store", item_id=item_id, error=str(error))
    return count


def apply_next(*, item_id: int) -> bool:
    """Apply the oldest pending change. False where there is none, or it cannot be applied now."""
    change = SaleChange.objects.filter(item_id=item_id, status=Status.PENDING).order_by("pk").first()
    if change is None:
        return False
    failpoints.reach("changes.before_store")
    answer = ledger.adjust(item_id=item_id, operation_id=change.operation_id, adjustment=adjustment_of(change))
    failpoints.reach("changes.after_store")
    if answer.word == Adjusted.UNAVAILABLE:
        return False
    try:
        finish(change, answer)
    except IntegrityError as error:
        # The store gave up units that PostgreSQL counts as taken: it has lost something. A reconcile will tell.
        log.error("change_differs_from_orders", item_id=item_id, change=change.pk, error=str(error))
        return False
    return True


def store_quantity(*, item_id: int) -> int | None:
    """The quantity that the store is to have before the pending changes: what a rebuild publishes. None is unlimited.

    Read in one statement: read one after the other, quantity and pending units would differ by what a manager adds in
    between. To be used under the item's lock, which keeps pending changes from being applied meanwhile.
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


def database_now() -> datetime:
    """PostgreSQL's clock: a web server whose own is wrong must not take a running sale for one that is over."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
