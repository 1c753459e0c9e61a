"""Turns outbox entries into orders in PostgreSQL: each entry once, in batches, and never more units than the quantity.

`drain_once` handles one batch: read → one transaction (orders, lines, and as the last statement the guarded update of
`taken`) → commit → acknowledge. If the process dies before the acknowledgement, the entries stay pending and are read
again. Inserting is idempotent by reservation id, so reading an entry twice adds nothing. A batch that was read from a
server of the store which has been replaced is not written: the new one may have sold its units again. And a PostgreSQL
that has just taken over rejects nobody: it may lack the end of orders whose units it counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import DataError, IntegrityError, connection, transaction
from psycopg.errors import NotNullViolation

from orders.life import settlement
from orders.life.payment_deadline import payment_deadline
from orders.mails import sending
from orders.models import Mail, Order, OrderLine, OrderStatus
from orders.models.order import drew_known_code
from orders.units.taken import take
from seckill import ledger
from seckill.items import item_state
from seckill.ledger_words import ReleaseReason
from seckill.models import UNITS_MAX, SaleItem
from seckill.outbox import outbox
from shop import failpoints
from shop.background.shared_counts import SharedCounts
from shop.databases.timeline import database_timeline
from shop.models import Product, TaxRate, Variant
from shop.times.timestamps import from_ms
from shop.tracing.steps import steps

log = structlog.get_logger(__name__)

User = get_user_model()

# A smaller difference between the clocks changes a deadline too little to matter, so it is not corrected.
CLOCK_TOLERANCE = timedelta(seconds=5)

# Buyers who were told yes and got a rejected order. In healthy stores there is none.
broken_yeses = SharedCounts(prefix="orders.broken_yeses", thread_name="broken-yeses")
REJECTED = "rejected"

# Large enough to share the cost of a transaction, small enough to commit within some ten milliseconds. Twice as many
# cost PostgreSQL half as much again for each order (docs/decisions.md).
BATCH_MAX = 250

FIND_ITEM = f"""
SELECT item.variant_id, item.price_minor, tax.percent, now(), buyers.known, buyers.blocked
FROM {SaleItem._meta.db_table} AS item
CROSS JOIN (
    SELECT count(*) AS known, coalesce(array_agg(id) FILTER (WHERE NOT is_active), '{{}}') AS blocked
    FROM (SELECT id, is_active FROM {User._meta.db_table} WHERE id = ANY(%(buyer_ids)s) ORDER BY id FOR KEY SHARE) buyer
) AS buyers
JOIN {Variant._meta.db_table} AS variant ON variant.id = item.variant_id
JOIN {Product._meta.db_table} AS product ON product.id = variant.product_id
LEFT JOIN {TaxRate._meta.db_table} AS tax ON tax.id = product.tax_rate_id
WHERE item.id = %(item_id)s
"""

# One statement with arrays costs the worker a seventh of one with a row of parameters for each order, because neither
# Python nor PostgreSQL has to parse thousands of parameters. A reservation that has an order already inserts nothing.
INSERT_ORDERS = f"""
WITH entry AS (
    SELECT * FROM unnest(%(reservation_ids)s::uuid[], %(buyer_ids)s::bigint[], %(units)s::bigint[],
                         %(reserved_at)s::timestamptz[], %(expires_at)s::timestamptz[])
    AS entry (reservation_id, buyer_id, units, reserved_at, expires_at)
), new_order AS (
    INSERT INTO {Order._meta.db_table} (number, reservation_id, buyer_id, status, amount_minor, currency,
                                        created_at, reserved_at, expires_at, ended_at)
    SELECT gen_random_uuid(), reservation_id, buyer_id, %(status)s, units * %(price_minor)s, %(currency)s,
           %(now)s, reserved_at, expires_at, %(ended_at)s
    FROM entry
    ON CONFLICT (reservation_id) DO NOTHING
    RETURNING id, reservation_id
), kept AS MATERIALIZED (
    SELECT sku, orders_kept_texts(id) AS texts FROM {Variant._meta.db_table} WHERE id = %(variant_id)s
), new_line AS (
    INSERT INTO {OrderLine._meta.db_table} (order_id, variant_id, sale_item_id, sku, texts, units, unit_price_minor,
                                            tax_percent)
    SELECT new_order.id, %(variant_id)s, %(item_id)s, sku, texts, units, %(price_minor)s, %(tax_percent)s::numeric
    FROM new_order JOIN entry USING (reservation_id) CROSS JOIN kept
    RETURNING units
)
SELECT coalesce(sum(units), 0) FROM new_line
"""


class EntryMalformed(Exception):
    """The outbox entry can never become an order, however often it is tried."""


class Surplus(Exception):
    """The batch has more units than PostgreSQL has left: the store has lost reservations that it had accepted."""


class ServerReplaced(Exception):
    """Another server of the store has taken over since the batch was read, and the item was compared with its orders.

    Or another PostgreSQL has, and the item is not compared with it yet. If the store still has the entries, they are
    read again.
    """


@dataclass(frozen=True, slots=True)
class NewOrder:
    """An order to be created: a parsed outbox entry, or, where `entry` is None, a hold whose entry was lost.

    `incarnation` is that of the server from which it was read. `waited`: the units came through the waiting list.
    """

    entry: outbox.Entry | None
    incarnation: str
    reservation_id: UUID
    buyer_id: int
    units: int
    reserved_at: datetime
    deadline: datetime
    waited: bool = False


def drain_once(*, item_id: int, batch_max: int = BATCH_MAX, consumer: str = outbox.CONSUMER) -> int:
    """Bring one batch of the item's outbox into PostgreSQL and acknowledge it. Returns how many entries it handled.

    Raises StoreUnreachable and database errors; the entries then stay pending and are read again later.
    """
    entries = outbox.read_batch(item_id=item_id, count_max=batch_max, consumer=consumer)
    try:
        take_in_batch(item_id=item_id, entries=entries)
    except ServerReplaced as error:
        # Usual for a second after a restart of the store; the reconcile reads them too.
        log.warning("batch_of_a_replaced_server", item_id=item_id, entries=len(entries), error=str(error))
        return 0
    return len(entries)


def drain_all(*, item_id: int) -> int:
    """For a reconcile: bring in every entry, also those that another consumer has read. Returns how many.

    It does not end while entries are added faster. It is safe for two consumers to handle one entry: the second inserts
    nothing. Raises ServerReplaced too.
    """
    count = 0
    while entries := outbox.read_all(item_id=item_id, count_max=BATCH_MAX):
        take_in_batch(item_id=item_id, entries=entries, by_reconcile=True)
        count += len(entries)
    return count


def take_in_batch(*, item_id: int, entries: Sequence[outbox.Entry], by_reconcile: bool = False) -> None:
    """Turn one batch of entries into orders; entries that cannot be parsed are rejected."""
    new_orders = []
    for entry in entries:
        try:
            new_orders.append(parse_entry(entry))
        except EntryMalformed as error:
            reject_entry(item_id=item_id, entry=entry, error=error)
    if new_orders:
        persist_and_acknowledge(item_id=item_id, new_orders=new_orders, by_reconcile=by_reconcile)


def parse_entry(entry: outbox.Entry) -> NewOrder:
    """Convert the entry's fields to their types. Raises EntryMalformed."""
    fields = entry.fields
    try:
        new_order = NewOrder(
            entry=entry,
            incarnation=entry.incarnation,
            reservation_id=UUID(fields["reservation"]),
            buyer_id=int(fields["buyer"]),
            units=int(fields["units"]),
            reserved_at=from_ms(int(fields["reserved_ms"])),
            deadline=from_ms(int(fields["deadline_ms"])),
            waited="waited" in fields,
        )
    except (KeyError, ValueError, OverflowError, OSError) as error:
        raise EntryMalformed(repr(error)) from error
    if not 1 <= new_order.units <= UNITS_MAX or not 1 <= new_order.buyer_id < 2**63:
        raise EntryMalformed("units or buyer out of range")
    return new_order


def persist_and_acknowledge(*, item_id: int, new_orders: Sequence[NewOrder], by_reconcile: bool = False) -> None:
    """Commit the batch, then acknowledge it. If one of its entries cannot be inserted, commit them one by one."""
    try:
        persist(item_id=item_id, new_orders=new_orders, by_reconcile=by_reconcile)
    except (IntegrityError, DataError, EntryMalformed) as error:
        if isinstance(error.__cause__, NotNullViolation):
            # The table belongs to a newer release than this worker. The entries are fine and wait for a newer worker.
            raise
        if drew_known_code(error):
            persist_and_acknowledge(item_id=item_id, new_orders=new_orders, by_reconcile=by_reconcile)
            return
        if len(new_orders) == 1:
            reject_order(item_id=item_id, new_order=new_orders[0], error=error)
            return
        for new_order in new_orders:
            persist_and_acknowledge(item_id=item_id, new_orders=[new_order], by_reconcile=by_reconcile)
        return
    failpoints.reach("intake.after_commit")
    for new_order in new_orders:
        steps.note(new_order.reservation_id, "order", began=new_order.reserved_at, item=item_id)
    entry_ids = [new_order.entry.id for new_order in new_orders if new_order.entry]
    if outbox.acknowledge(item_id=item_id, entry_ids=entry_ids) < len(entry_ids):
        check_known(item_id=item_id, new_orders=new_orders)


def check_known(*, item_id: int, new_orders: Sequence[NewOrder]) -> None:
    """Some entries were gone. Usually another worker was faster; but where the store has no hold either, it has lost
    them, and would sell their units again: the item must be compared with its orders.
    """
    reservation_ids = [new_order.reservation_id for new_order in new_orders]
    if unknown := item_state.compare_unknown(item_id=item_id, reservation_ids=reservation_ids):
        named = list(map(str, unknown[:20]))
        log.error("orders_unknown_to_the_store", item_id=item_id, orders=len(unknown), reservations=named)


def persist(*, item_id: int, new_orders: Sequence[NewOrder], by_reconcile: bool = False) -> None:
    """One transaction for the batch; if there are not enough units left, another one that rejects the surplus.

    Raises ServerReplaced instead, unless `by_reconcile`, which has ended first what had ended in the store.
    """
    try:
        with transaction.atomic():
            units = insert_orders(item_id=item_id, new_orders=new_orders, status=OrderStatus.AWAITING_PAYMENT)
            if not take(item_id=item_id, units=units, incarnation=new_orders[0].incarnation):
                raise Surplus
            failpoints.reach("intake.before_commit")
    except Surplus:
        if not by_reconcile and item_state.is_of_other_timeline(item_id=item_id, timeline=database_timeline()):
            raise ServerReplaced(f"sale item {item_id}: not compared with this PostgreSQL yet") from None
        persist_with_surplus(item_id=item_id, new_orders=new_orders)


def persist_with_surplus(*, item_id: int, new_orders: Sequence[NewOrder]) -> None:
    """First come, first served up to the quantity; the others become rejected orders and their holds are released.

    Raises ServerReplaced if the server of the batch was the reason, and not the quantity. With healthy stores nobody is
    rejected. It means that the reservation store lost its latest writes, so it is logged as an error.
    """
    rejected: list[NewOrder] = []
    with transaction.atomic():
        item = SaleItem.objects.select_for_update().get(pk=item_id)
        if item.incarnation not in ("", new_orders[0].incarnation):
            raise ServerReplaced(f"sale item {item_id}: read from {new_orders[0].incarnation}, now {item.incarnation}")
        for new_order in new_orders:
            with transaction.atomic():
                units = insert_orders(item_id=item_id, new_orders=[new_order], status=OrderStatus.AWAITING_PAYMENT)
                fits = take(item_id=item_id, units=units)
                if not fits:
                    transaction.set_rollback(True)
            if not fits:
                insert_orders(item_id=item_id, new_orders=[new_order], status=OrderStatus.REJECTED)
                rejected.append(new_order)
    if rejected:
        broken_yeses.add(REJECTED, len(rejected))
        units = sum(new_order.units for new_order in rejected)
        log.error("oversell_refused_by_database", item_id=item_id, orders=len(rejected), units=units)
    settlement.settle_orders()


def insert_orders(*, item_id: int, new_orders: Sequence[NewOrder], status: OrderStatus) -> int:
    """Insert the orders that do not exist yet, with their lines. Returns how many units the inserted ones take.

    Reservations of blocked accounts become rejected orders, which take none, and the sweep of unsettled orders releases
    their holds. Raises EntryMalformed where the item or a buyer does not exist; the foreign keys would be checked only
    at commit.
    """
    buyer_ids = [new_order.buyer_id for new_order in new_orders]
    item = find_item(item_id=item_id, buyer_ids=buyer_ids)
    if item is None or item.buyers_known != len(set(buyer_ids)):
        raise EntryMalformed(f"no such item or buyer: {item_id}, one of {sorted(set(buyer_ids))[:5]}")
    refused = [new_order for new_order in new_orders if is_refused(new_order, item)]
    if refused:
        log.warning("reservations_of_blocked_accounts", item_id=item_id, orders=len(refused))
        insert_rows(item_id=item_id, item=item, new_orders=refused, status=OrderStatus.REJECTED)
        new_orders = [new_order for new_order in new_orders if not is_refused(new_order, item)]
    units = insert_rows(item_id=item_id, item=item, new_orders=new_orders, status=status)
    failpoints.reach("intake.mid_batch")
    return units


def is_refused(new_order: NewOrder, item: "ItemOfBatch") -> bool:
    """Whether the buyer's account is blocked. A hold without an entry may be of an order that was paid and lost."""
    return new_order.entry is not None and new_order.buyer_id in item.blocked


def insert_rows(*, item_id: int, item: "ItemOfBatch", new_orders: Sequence[NewOrder], status: OrderStatus) -> int:
    offset = clock_offset(item_id=item_id, new_orders=new_orders, now=item.now)
    with connection.cursor() as cursor:
        cursor.execute(
            INSERT_ORDERS,
            {
                "reservation_ids": array_text(new_order.reservation_id for new_order in new_orders),
                "buyer_ids": array_text(new_order.buyer_id for new_order in new_orders),
                "units": array_text(new_order.units for new_order in new_orders),
                "reserved_at": array_text(new_order.reserved_at + offset for new_order in new_orders),
                "expires_at": array_text(expiry_of(new_order, offset=offset, now=item.now) for new_order in new_orders),
                "status": status.value,
                "currency": settings.CURRENCY,
                "now": item.now,
                "ended_at": None if status is OrderStatus.AWAITING_PAYMENT else item.now,
                "variant_id": item.variant_id,
                "tax_percent": item.tax_percent,
                "item_id": item_id,
                "price_minor": item.price_minor,
            },
        )
        (units,) = cursor.fetchone()
    waited = [new_order.reservation_id for new_order in new_orders if new_order.waited]
    if waited and status is OrderStatus.AWAITING_PAYMENT:
        order_ids = Order.objects.filter(reservation_id__in=waited).values_list("pk", flat=True)
        sending.enqueue(order_ids=order_ids, kind=Mail.Kind.FROM_LINE)
    return int(units)


def array_text(elements: Iterable[object]) -> str:
    """PostgreSQL's notation of an array of numbers, ids or times. None needs the quotes that the driver looks for."""
    return f"{{{','.join(map(str, elements))}}}"


def expiry_of(new_order: NewOrder, *, offset: timedelta, now: datetime) -> datetime:
    hold_time = new_order.deadline - new_order.reserved_at
    return payment_deadline(hold_ends=new_order.deadline + offset, hold_time=hold_time, now=now)


class ItemOfBatch(NamedTuple):
    """The item of a batch, how many of the batch's buyers exist, and the ids of those whose accounts are blocked.

    Their rows are locked, so that `cancel_unpaid_of` waits for the batch. `now` is PostgreSQL's clock.
    """

    variant_id: int
    price_minor: int
    tax_percent: Decimal | None
    now: datetime
    buyers_known: int
    blocked: list[int]


def find_item(*, item_id: int, buyer_ids: list[int]) -> ItemOfBatch | None:
    with connection.cursor() as cursor:
        cursor.execute(FIND_ITEM, {"item_id": item_id, "buyer_ids": buyer_ids})
        row = cursor.fetchone()
    return ItemOfBatch(*row) if row else None


def clock_offset(*, item_id: int, new_orders: Sequence[NewOrder], now: datetime) -> timedelta:
    """How far PostgreSQL's clock, which decides when orders expire, is ahead of the store's clock. Usually 0.

    The store is asked for its time only if a reservation looks too old or too new: either it waited long, or the clocks
    differ. Without this, a store whose clock is an hour behind would make every order expire at once.
    """
    if all(abs(new_order.reserved_at - now) < CLOCK_TOLERANCE for new_order in new_orders):
        return timedelta(0)
    offset = now - from_ms(ledger.clock_ms(item_id=item_id))
    if abs(offset) < CLOCK_TOLERANCE:
        return timedelta(0)
    log.error("clocks_differ", store_is_behind_seconds=offset.total_seconds())
    return offset


def reject_order(*, item_id: int, new_order: NewOrder, error: Exception) -> None:
    """The order cannot be created: release its hold, and set its entry aside if there is one."""
    if new_order.entry:
        reject_entry(item_id=item_id, entry=new_order.entry, error=error)
        return
    ledger.release(
        item_id=item_id, reservation_ids=[new_order.reservation_id], reason=ReleaseReason.REJECTED, even_unverified=True
    )
    log.error("hold_without_buyer", item_id=item_id, reservation=str(new_order.reservation_id), error=repr(error))


def reject_entry(*, item_id: int, entry: outbox.Entry, error: Exception) -> None:
    """Release the hold of an entry that can never become an order, and set the entry aside for a person to look at.

    The hold first: if the process dies in between, the entry is read again and both steps are repeated safely.
    """
    try:
        reservation_id = UUID(entry.fields.get("reservation", ""))
    except ValueError:
        pass
    else:
        ledger.release(
            item_id=item_id, reservation_ids=[reservation_id], reason=ReleaseReason.REJECTED, even_unverified=True
        )
    outbox.move_to_dead_letters(item_id=item_id, entry=entry, error=repr(error))
    log.error("outbox_entry_set_aside", item_id=item_id, entry=entry.id, fields=entry.fields, error=repr(error))
