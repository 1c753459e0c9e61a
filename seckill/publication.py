"""Publishing a sale: its terms go to the reservation store once, and are frozen in PostgreSQL from then on.

PostgreSQL comes first: `published_at` is set under a row lock, so that two managers who press the button at the same
time publish once. Then each item is announced: its terms are sent to the store, and `announced_at` is set. If a crash
comes in between, the sweep announces the item. Repeating that is safe: `ledger.publish` is idempotent, and no order can
exist before the announcement. An announced item is never published again: if the store loses it, buyers get
`unavailable` until it is rebuilt from the orders.

A sale opens only if both stores are durable (seckill/store/durability.py). With a weak one, publishing is refused
before anything is changed; if one becomes weak before the announcement, the sale stays unannounced.
"""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from seckill import ledger
from seckill.changes.rules import is_paused_after_pending, state_after_pending
from seckill.items import item_state
from seckill.items.lock import item_lock
from seckill.items.loop import for_each_item
from seckill.models import Draw, Sale, SaleItem, WaitingRoom, overlapping_item, reference_of
from seckill.store import durability
from shop import failpoints
from shop.databases.database_clock import database_now
from shop.databases.timeline import database_timeline
from shop.languages.kept_texts import filled
from shop.models import StockChange, Variant
from shop.stock.movements import NotEnoughUnits, move
from shop.times.timestamps import to_ms

log = structlog.get_logger(__name__)


class CannotPublish(Exception):
    """The sale breaks a rule, or a store is not durable. The message is for the shop manager, in their language."""


def publish_sale(
    *, sale_id: int, made_by: User | None = None, check: Callable[[Sale], object] = lambda sale: None
) -> bool:
    """Publish the sale; False if it was published before. Raises CannotPublish, StoreUnreachable, and as `check`.

    `check` looks at the draft under the locks with which it is published, so nobody changes it in between. After
    StoreUnreachable the sale is published; its items are announced as soon as the store answers.
    """
    # Before the transaction, so that no row is locked while waiting for a store.
    refusal = durability.reason_to_refuse()
    with transaction.atomic():
        sale = Sale.objects.select_for_update().get(pk=sale_id)
        if sale.is_published:
            published = False
        else:
            check_publishable(sale)
            if refusal:
                raise CannotPublish(refusal)
            check(sale)
            take_out_of_stock(sale, made_by=made_by)
            if sale.has_room:
                # Its hash is shown from now on, itself at the end.
                WaitingRoom.objects.create(sale=sale, key=secrets.token_hex(32))
            if sale.has_draw:
                # Likewise: the seed itself is shown once the entries are fixed.
                Draw.objects.create(sale=sale, seed=secrets.token_hex(32))
            published = bool(Sale.objects.filter(pk=sale_id, published_at=None).update(published_at=Now()))
            failpoints.reach("publication.before_commit")
    failpoints.reach("publication.after_commit")
    # Only this sale's items: a broken item of another sale must not fail this manager's request.
    announce(list(unannounced_items().filter(sale_id=sale_id)))
    return published


def check_publishable(sale: Sale) -> None:
    """Check the forms' rules again, with the products locked: another manager may be publishing an overlapping sale."""
    list(Variant.objects.select_for_update(no_key=True).filter(sale_items__sale=sale).order_by("pk").values_list("pk"))
    items = list(sale.items.select_related("variant__product").order_by("pk"))
    if not items:
        raise CannotPublish(_("A sale needs at least one item before it can be published."))
    now = database_now()
    if sale.closes_at <= now:
        raise CannotPublish(_("The closing time of this sale has passed. Change it before you publish."))
    if sale.has_draw and sale.opens_at <= now:
        raise CannotPublish(_("Entries for a draw are taken until the opening, which has passed. Change it first."))
    for item in items:
        if item.price_minor > item.variant.price_minor:
            raise CannotPublish(
                filled(_("The sale price of “%(product)s” is higher than its ordinary price."), product=item.variant)
            )
        if other := overlapping_item(item):
            raise CannotPublish(
                filled(
                    _("“%(product)s” is already in the sale “%(sale)s” at that time."),
                    product=item.variant,
                    sale=other.sale,
                )
            )


def draft_terms(sale: Sale, rows: Iterable[SaleItem] | None = None) -> str:
    """What staff and a pre-flight look at before publishing; another text means that the draft was changed since.

    `rows` are the sale's items by their ids with their variants, where they have been read already.
    """
    found = sale.items.select_related("variant").order_by("pk") if rows is None else rows
    items = [
        (row.variant_id, row.price_minor, row.variant.price_minor, row.quantity, row.per_buyer_max) for row in found
    ]
    window = to_ms(sale.opens_at), to_ms(sale.closes_at)
    return repr((*window, sale.hold_seconds, str(sale.admission), sale.pace, sale.waiting_list, items))


def take_out_of_stock(sale: Sale, *, made_by: User | None) -> None:
    """The units of limited items leave the ordinary stock. Raises CannotPublish where there are too few."""
    limited = sale.items.filter(quantity__isnull=False)
    units_of = {item.variant_id: item.quantity or 0 for item in limited}
    try:
        move(kind=StockChange.Kind.TO_SALE, units_of=units_of, reference=reference_of(sale.pk), made_by=made_by)
    except NotEnoughUnits as refusal:
        item = limited.select_related("variant__product").get(variant_id=min(refusal.available))
        raise CannotPublish(
            filled(
                _("The sale has %(units)d units of “%(product)s”, but only %(available)d are in stock."),
                units=item.quantity,
                product=item.variant,
                available=refusal.available[item.variant_id],
            )
        ) from refusal
    limited.update(from_stock=True)


def announce_pending() -> int:
    """Announce the items that a crash or an unreachable store has left unannounced. Returns their number.

    An item that cannot be announced is logged and does not stop the others. Raises StoreUnreachable.
    """
    pending = {item.pk: item for item in unannounced_items()}
    counts, _ = for_each_item(
        lambda item_id: announce([pending[item_id]]), item_ids=pending, event="item_not_announced"
    )
    return sum(counts.values())


def unannounced_items() -> QuerySet[SaleItem]:
    return SaleItem.objects.select_related("sale").filter(announced_at=None, sale__published_at__isnull=False)


def announce(pending: Sequence[SaleItem]) -> int:
    """Send the terms of these items to the store. Returns the number of items.

    Sends none while a store is weak and SECKILL_ALLOW_WEAK_DURABILITY is off. Raises StoreUnreachable.
    """
    if not pending:
        return 0
    if weaknesses := durability.find_weaknesses():
        found = {f"{weakness.setting} {weakness.value}" for weakness in weaknesses}
        item_ids = [item.pk for item in pending]
        if not settings.SECKILL_ALLOW_WEAK_DURABILITY:
            log.error("sale_waits_for_durable_stores", item_ids=item_ids, weaknesses=sorted(found))
            return 0
        log.warning("sale_opens_on_weak_stores", item_ids=item_ids, weaknesses=sorted(found))
    count, timeline = 0, database_timeline()
    for item in pending:
        send_terms(item)
        item_state.note_timeline(item_id=item.pk, timeline=timeline)
        count += SaleItem.objects.filter(pk=item.pk, announced_at=None).update(announced_at=Now())
    return count


def send_terms(item: SaleItem) -> None:
    """Put the item on sale as its pending changes leave it: one that was paused or ended meanwhile sells nothing.

    The changes themselves are applied by a sweep. Under the lock, none is tried between the reading and the sending.
    """
    with item_lock(item_id=item.pk):
        state = state_after_pending(item.sale)
        ledger.publish(
            item_id=item.pk,
            terms=replace(terms_of(item), closes_ms=to_ms(state.closes_at)),
            paused=state.paused or is_paused_after_pending(item),
        )


def terms_of(item: SaleItem) -> ledger.Terms:
    """The item's terms in the store's units."""
    return ledger.Terms(
        quantity=item.quantity,
        opens_ms=to_ms(item.sale.opens_at),
        closes_ms=to_ms(item.sale.closes_at),
        hold_ms=item.sale.hold_seconds * 1000,
        per_buyer_max=item.per_buyer_max,
        price_minor=item.price_minor,
        currency=settings.CURRENCY,
    )
