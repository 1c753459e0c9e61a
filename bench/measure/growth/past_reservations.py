"""Past reservations of an item, and past sales, written directly into both stores: a million would take hours to buy.

The result is what a sale leaves behind: a third of the orders paid, the others expired, all settled.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django_redis import get_redis_connection

from bench.load_sale import open_load_sale, retire
from orders.models import Order, OrderLine, OrderStatus
from orders.models.order import drew_known_code
from seckill.models import SaleItem
from seckill.store.keys import keys_of

# Rows of one INSERT, and fields of one HSET.
CHUNK = 20_000
PAST_DAYS = 30

INSERT_ORDERS = f"""
WITH past AS (
    SELECT lpad(to_hex(%(item_id)s), 12, '0') || '8' || substr(digits, 1, 3) || '8' || substr(digits, 4, 15) AS id,
           (%(buyer_ids)s::bigint[])[1 + number %% %(buyers)s] AS buyer_id,
           CASE WHEN number %% 3 = 0 THEN 'paid' ELSE 'expired' END AS status
    FROM (SELECT number, md5(number || ' of ' || %(item_id)s) AS digits
          FROM generate_series(%(first)s, %(last)s) AS number) AS numbers
), new_order AS (
    INSERT INTO {Order._meta.db_table} (number, reservation_id, buyer_id, status, amount_minor, currency, created_at,
                                        reserved_at, expires_at, ended_at, settled_at)
    SELECT gen_random_uuid(), id::uuid, buyer_id, status, %(price_minor)s, 'CNY', %(at)s, %(at)s, %(at)s, %(at)s, %(at)s
    FROM past RETURNING id, reservation_id, buyer_id, status
), new_line AS (
    INSERT INTO {OrderLine._meta.db_table} (order_id, variant_id, sale_item_id, units, unit_price_minor)
    SELECT id, %(variant_id)s, %(item_id)s, 1, %(price_minor)s FROM new_order
)
SELECT reservation_id, buyer_id, status FROM new_order
"""


def add_past_reservations(item: SaleItem, *, count: int, buyer_ids: Sequence[int]) -> None:
    """Give the item `count` more reservations of one unit, all of which have ended or were paid."""
    at = timezone.now() - timedelta(days=PAST_DAYS)
    keys, client = keys_of(item.pk), get_redis_connection("seckill")
    bought: Counter[int] = Counter()
    for first in range(1, count + 1, CHUNK):
        last = min(first + CHUNK - 1, count)
        rows = insert(item, first=first, last=last, buyer_ids=buyer_ids, at=at)
        paid = [buyer_id for _, buyer_id, status in rows if status == OrderStatus.PAID]
        bought.update(paid)
        deadline_ms = int(at.timestamp() * 1000)
        holds = {
            str(reservation_id): f"{'sold' if status == OrderStatus.PAID else 'ended'}:{buyer_id}:1:{deadline_ms}"
            for reservation_id, buyer_id, status in rows
        }
        client.hset(keys.holds, mapping=holds)
        client.hincrby(keys.item, "reservations", len(rows))
        client.hincrby(keys.item, "sold", len(paid))
        client.hincrby(keys.item, "left", -len(paid))
    for buyer_id, units in bought.items():
        client.hincrby(keys.buyers, str(buyer_id), units)


def insert(item: SaleItem, **numbered: Any) -> list[Any]:
    """The rows of `insert_once`. Among a million orders, PostgreSQL may draw a short number that another one has."""
    while True:
        try:
            return insert_once(item, **numbered)
        except IntegrityError as error:
            if not drew_known_code(error):
                raise


def insert_once(item: SaleItem, *, first: int, last: int, buyer_ids: Sequence[int], at: Any) -> list[Any]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            INSERT_ORDERS,
            {
                "item_id": item.pk,
                "variant_id": item.variant_id,
                "price_minor": item.price_minor,
                "buyer_ids": list(buyer_ids),
                "buyers": len(buyer_ids),
                "first": first,
                "last": last,
                "at": at,
            },
        )
        rows: list[Any] = cursor.fetchall()
        paid = sum(status == OrderStatus.PAID for _, _, status in rows)
        SaleItem.objects.filter(pk=item.pk).update(taken=item.taken + paid)
        item.taken += paid
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
