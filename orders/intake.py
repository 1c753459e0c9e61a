"""Turns outbox entries into orders in PostgreSQL: once each, in batches, and never more than the quantity.

`drain_once` is one batch: read → one transaction (orders, lines, and as the last statement the guard on `taken`) →
commit → acknowledge. Killed anywhere before the acknowledgement, the entries stay pending and are read again; inserting
is idempotent by reservation id, so a second reading adds nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from orders import lifecycle
from orders.models import Order, OrderLine, OrderStatus
from seckill import ledger, outbox
from seckill.models import UNITS_MAX, SaleItem
from seckill.moments import moment_from
from shop import failpoints

log = structlog.get_logger(__name__)

# Large enough that the cost of a transaction is shared, small enough that one is over in tens of milliseconds.
BATCH_MAX = 500


class EntryMalformed(Exception):
    """An outbox entry that no repetition can turn into an order."""


class Surplus(Exception):
    """The batch asks for more units than PostgreSQL has left: the store has lost something it had given away."""


@dataclass(frozen=True, slots=True)
class Intent:
    """An outbox entry, understood."""

    entry: outbox.Entry
    reservation_id: UUID
    buyer_id: int
    units: int
    reserved_at: datetime
    deadline: datetime


def drain_once(*, item_id: int, batch_max: int = BATCH_MAX, consumer: str = outbox.CONSUMER) -> int:
    """Bring one batch of the item's outbox into PostgreSQL and acknowledge it. Returns how many entries it handled.

    Raises StoreUnreachable and database errors; entries then stay pending and are read again later.
    """
    entries = outbox.read_batch(item_id=item_id, count_max=batch_max, consumer=consumer)
    intents = []
    for entry in entries:
        try:
            intents.append(understand(entry))
        except EntryMalformed as error:
            set_aside(item_id=item_id, entry=entry, error=error)
    if intents:
        persist_all(item_id=item_id, intents=intents)
    return len(entries)


def understand(entry: outbox.Entry) -> Intent:
    """The entry's fields as what they mean. Raises EntryMalformed."""
    fields = entry.fields
    try:
        intent = Intent(
            entry=entry,
            reservation_id=UUID(fields["reservation"]),
            buyer_id=int(fields["buyer"]),
            units=int(fields["units"]),
            reserved_at=moment_from(int(fields["reserved_ms"])),
            deadline=moment_from(int(fields["deadline_ms"])),
        )
    except (KeyError, ValueError, OverflowError, OSError) as error:
        raise EntryMalformed(repr(error)) from error
    if not 1 <= intent.units <= UNITS_MAX or not 1 <= intent.buyer_id < 2**63:
        raise EntryMalformed("units or buyer out of range")
    return intent


def persist_all(*, item_id: int, intents: Sequence[Intent]) -> None:
    """Commit the batch, then acknowledge. A batch that holds a poison entry is committed one by one instead."""
    try:
        persist(item_id=item_id, intents=intents)
    except (IntegrityError, DataError, EntryMalformed) as error:
        if len(intents) == 1:
            set_aside(item_id=item_id, entry=intents[0].entry, error=error)
            return
        for intent in intents:
            persist_all(item_id=item_id, intents=[intent])
        return
    failpoints.reach("intake.after_commit")
    outbox.acknowledge(item_id=item_id, entry_ids=[intent.entry.id for intent in intents])


def persist(*, item_id: int, intents: Sequence[Intent]) -> None:
    """One transaction for the batch; where the guard refuses it, another that sorts out the surplus."""
    try:
        with transaction.atomic():
            units = insert(item_id=item_id, intents=intents, status=OrderStatus.AWAITING_PAYMENT)
            if not take(item_id=item_id, units=units):
                raise Surplus
            failpoints.reach("intake.before_commit")
    except Surplus:
        persist_with_surplus(item_id=item_id, intents=intents)


def persist_with_surplus(*, item_id: int, intents: Sequence[Intent]) -> None:
    """First come, first served up to the quantity; the others become rejected orders and their holds are released.

    With healthy stores this never runs: it means that the reservation store lost its tail, hence the alarm.
    """
    rejected: list[Intent] = []
    with transaction.atomic():
        SaleItem.objects.select_for_update().get(pk=item_id)
        for intent in intents:
            with transaction.atomic():
                units = insert(item_id=item_id, intents=[intent], status=OrderStatus.AWAITING_PAYMENT)
                fits = take(item_id=item_id, units=units)
                if not fits:
                    transaction.set_rollback(True)
            if not fits:
                insert(item_id=item_id, intents=[intent], status=OrderStatus.REJECTED)
                rejected.append(intent)
    log.error(
        "oversell_refused_by_database",
        item_id=item_id,
        orders=len(rejected),
        units=sum(intent.units for intent in rejected),
    )
    lifecycle.settle_orders()


def take(*, item_id: int, units: int) -> bool:
    """Count `units` as taken where the quantity allows it. PostgreSQL's own refusal to oversell."""
    room = Q(quantity=None) | Q(quantity__gte=F("taken") + units)
    return SaleItem.objects.filter(room, pk=item_id).update(taken=F("taken") + units) == 1


def insert(*, item_id: int, intents: Sequence[Intent], status: OrderStatus) -> int:
    """Insert the orders that are not there yet, with their lines. Returns how many units the new ones have.

    Raises EntryMalformed where the item or a buyer does not exist: foreign keys would only be checked at commit.
    """
    item = SaleItem.objects.filter(pk=item_id).first()
    buyer_ids = {intent.buyer_id for intent in intents}
    known_ids = set(get_user_model().objects.filter(pk__in=buyer_ids).values_list("pk", flat=True))
    if item is None or buyer_ids != known_ids:
        raise EntryMalformed(f"no such item or buyer: {item_id}, {sorted(buyer_ids - known_ids)[:5]}")

    now = timezone.now()
    ended_at = None if status is OrderStatus.AWAITING_PAYMENT else now
    orders = [
        Order(
            reservation_id=intent.reservation_id,
            buyer_id=intent.buyer_id,
            status=status,
            amount_minor=intent.units * item.price_minor,
            currency=settings.CURRENCY,
            created_at=now,
            reserved_at=intent.reserved_at,
            expires_at=intent.deadline,
            ended_at=ended_at,
        )
        for intent in intents
    ]
    order_ids = insert_new(orders)
    failpoints.reach("intake.mid_batch")
    new = [intent for intent in intents if intent.reservation_id in order_ids]
    OrderLine.objects.bulk_create(
        OrderLine(
            order_id=order_ids[intent.reservation_id],
            product_id=item.product_id,
            sale_item_id=item_id,
            units=intent.units,
            unit_price_minor=item.price_minor,
        )
        for intent in new
    )
    return sum(intent.units for intent in new)


def insert_new(orders: Sequence[Order]) -> dict[UUID, int]:
    """INSERT … ON CONFLICT (reservation_id) DO NOTHING RETURNING, which Django's bulk_create cannot say.

    Returns reservation id → primary key for the rows that were not there before.
    """
    columns = [
        "number",
        "reservation_id",
        "buyer_id",
        "status",
        "amount_minor",
        "currency",
        "created_at",
        "reserved_at",
        "expires_at",
        "ended_at",
    ]
    row = f"({', '.join(['%s'] * len(columns))})"
    sql = (
        f"INSERT INTO {Order._meta.db_table} ({', '.join(columns)}) VALUES {', '.join([row] * len(orders))} "
        "ON CONFLICT (reservation_id) DO NOTHING RETURNING reservation_id, id"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [getattr(order, column) for order in orders for column in columns])
        return dict(cursor.fetchall())


def set_aside(*, item_id: int, entry: outbox.Entry, error: Exception) -> None:
    """Poison: give its hold back, keep it for a person to look at, and let the others pass.

    The hold first: killed in between, the entry is read again and both are repeated, which changes nothing.
    """
    try:
        reservation_id = UUID(entry.fields.get("reservation", ""))
    except ValueError:
        pass
    else:
        ledger.release(item_id=item_id, reservation_ids=[reservation_id], reason=ledger.Reason.REJECTED)
    outbox.set_aside(item_id=item_id, entry=entry, error=repr(error))
    log.error("outbox_entry_set_aside", item_id=item_id, entry=entry.id, fields=entry.fields, error=repr(error))
