"""Reservations of an item, and past sales, written directly into both stores: a million would take hours to make.

Past ones are what a sale leaves behind: a third of the orders paid, the others expired, all settled.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django_redis import get_redis_connection

from bench.load_sale import open_load_sale, retire
from orders.models import Order, OrderLine, OrderStatus
from orders.models.order import drew_known_code
from seckill.models import SaleItem
from seckill.store.keys import keys_of
from shop.times.timestamps import to_ms

# Rows of one INSERT, and fields of one HSET.
CHUNK = 20_000
PAST_DAYS = 30
# As the store calls an order's hold.
HOLD_STATES = {OrderStatus.AWAITING_PAYMENT: "held", OrderStatus.PAID: "sold", OrderStatus.EXPIRED: "ended"}

INSERT_ORDERS = f"""
WITH numbered AS (
    SELECT lpad(to_hex(%(item_id)s), 12, '0') || '8' || substr(digits, 1, 3) || '8' || substr(digits, 4, 15) AS id,
           (%(buyer_ids)s::bigint[])[1 + number %% %(buyers)s] AS buyer_id,
           (%(statuses)s::text[])[1 + number %% cardinality(%(statuses)s::text[])] AS status
    FROM (SELECT number, md5(number || ' of ' || %(item_id)s) AS digits
          FROM generate_series(%(first)s, %(last)s) AS number) AS numbers
), new_order AS (
    INSERT INTO {Order._meta.db_table} (number, reservation_id, buyer_id, status, amount_minor, currency, created_at,
                                        reserved_at, expires_at, ended_at, settled_at)
    SELECT gen_random_uuid(), id::uuid, buyer_id, status, %(price_minor)s, 'CNY', %(at)s, %(at)s, %(expires_at)s,
           %(ended_at)s, %(ended_at)s
    FROM numbered RETURNING id, reservation_id, buyer_id, status
), new_line AS (
    INSERT INTO {OrderLine._meta.db_table} (order_id, variant_id, sale_item_id, units, unit_price_minor)
    SELECT id, %(variant_id)s, %(item_id)s, 1, %(price_minor)s FROM new_order
)
SELECT reservation_id, buyer_id, status FROM new_order
"""


def add_past_reservations(item: SaleItem, *, count: int, buyer_ids: Sequence[int]) -> None:
    """Give the item `count` more reservations of one unit, all of which have ended or were paid."""
    at = timezone.now() - timedelta(days=PAST_DAYS)
    statuses = [OrderStatus.PAID, OrderStatus.EXPIRED, OrderStatus.EXPIRED]
    add_reservations(item, count=count, buyer_ids=buyer_ids, statuses=statuses, at=at, expires_at=at, ended_at=at)


def add_open_reservations(item: SaleItem, *, count: int, buyer_ids: Sequence[int], seconds: int) -> None:
    """Give the item `count` more reservations of one unit, whose orders wait so long to be paid."""
    at, statuses = timezone.now(), [OrderStatus.AWAITING_PAYMENT]
    until = at + timedelta(seconds=seconds)
    add_reservations(item, count=count, buyer_ids=buyer_ids, statuses=statuses, at=at, expires_at=until, ended_at=None)


def add_reservations(
    item: SaleItem,
    *,
    count: int,
    buyer_ids: Sequence[int],
    statuses: Sequence[OrderStatus],
    at: datetime,
    expires_at: datetime,
    ended_at: datetime | None,
) -> None:
    """Buyers and statuses in turn."""
    keys, client = keys_of(item.pk), get_redis_connection("seckill")
    of_buyers: Counter[int] = Counter()
    for first in range(1, count + 1, CHUNK):
        numbered = {
            "item_id": item.pk,
            "variant_id": item.variant_id,
            "price_minor": item.price_minor,
            "buyer_ids": list(buyer_ids),
            "buyers": len(buyer_ids),
            "statuses": [status.value for status in statuses],
            "first": first,
            "last": min(first + CHUNK - 1, count),
            "at": at,
            "expires_at": expires_at,
            "ended_at": ended_at,
        }
        rows = [(pk, buyer_id, HOLD_STATES[OrderStatus(status)]) for pk, buyer_id, status in insert(item, numbered)]
        units = Counter(state for _, _, state in rows if state != "ended")
        of_buyers.update(buyer_id for _, buyer_id, state in rows if state != "ended")
        holds = {str(pk): f"{state}:{buyer_id}:1:{to_ms(expires_at)}" for pk, buyer_id, state in rows}
        client.hset(keys.holds, mapping=holds)
        for name, change in {"reservations": len(rows), "left": -units.total(), **units}.items():
            client.hincrby(keys.item, name, change)
    for buyer_id, bought in of_buyers.items():
        client.hincrby(keys.buyers, str(buyer_id), bought)


def insert(item: SaleItem, numbered: dict[str, Any]) -> list[Any]:
    """The rows of `insert_once`. Among a million orders, PostgreSQL may draw a short number that another one has."""
    while True:
        try:
            return insert_once(item, numbered)
        except IntegrityError as error:
            if not drew_known_code(error):
                raise


def insert_once(item: SaleItem, numbered: dict[str, Any]) -> list[Any]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(INSERT_ORDERS, numbered)
        rows: list[Any] = cursor.fetchall()
        live = sum(status != OrderStatus.EXPIRED for _, _, status in rows)
        SaleItem.objects.filter(pk=item.pk).update(taken=item.taken + live)
    item.taken += live
    return rows


def add_past_sales(*, count: int) -> None:
    """Published sales that ended long ago and are still in the reservation store."""
    for number in range(count):
        name = f"Past sale {number}"
        retire(open_load_sale(name=name, quantity=10, per_buyer_max=1, open_seconds=60, hold_seconds=60))


def settle_statistics() -> None:
    """Vacuum as autovacuum does soon after so many rows, so that it does not do it during the measurement."""
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM ANALYZE {Order._meta.db_table}, {OrderLine._meta.db_table}")
