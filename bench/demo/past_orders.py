"""Tens of thousands of orders of the last months, for trying out long lists. They are of demo people and products."""

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from bench.demo.copied_rows import copy_rows
from bench.demo.demo_people import DemoPerson, guest, load_people, person_of
from bench.demo.long_lists import SLUG_BEGINNING
from bench.demo.order_rows import Identity, OrderRows, Ware, add_order
from bench.demo.past_stock import record_past
from bench.demo.planned_order import plan
from orders.models import Order, OrderLine
from shop.demo.assortment import PRODUCTS
from shop.models import Variant

ReportProgress = Callable[[int, int], object]

# Orders of one transaction: their variants are locked for a second, and buyers wait for no longer.
BATCH_SIZE = 2_000
SPAN = timedelta(days=180)
# Their numbers begin so. Of real orders, whose numbers are drawn, one in four thousand million does.
NUMBER_START = 0xDE300000
ORDERS_PER_PERSON = 6
SHARE_OF_GUESTS = 0.2
LINES_WEIGHTS = (60, 25, 10, 5)
UNITS_WEIGHTS = (75, 17, 8)

IDENTITIES = f"""
SELECT nextval(pg_get_serial_sequence('{Order._meta.db_table}', 'id')), orders_new_code()
FROM generate_series(1, %s)
"""
LINE_IDS = f"SELECT nextval(pg_get_serial_sequence('{OrderLine._meta.db_table}', 'id')) FROM generate_series(1, %s)"


class NothingToSell(Exception):
    """There are no demo products that an order could be about."""


def load_orders(count: int, *, report_progress: ReportProgress = lambda done, total: None) -> int:
    """Bring the number of demo orders to `count`. Returns how many were made. Raises NothingToSell.

    Each batch is a transaction; after an interruption the next call makes what is missing.
    """
    had = demo_orders_count()
    if had >= count:
        return 0
    wares = demo_wares()
    if not wares:
        raise NothingToSell
    now = timezone.now()
    users = load_people(count // ORDERS_PER_PERSON + 1, now=now)
    draw = random.Random(had)
    # More of them of late, as in a shop that grows.
    times = sorted(now - SPAN * (1 - draw.random() ** 0.7) for _ in range(count - had))
    for first in range(0, len(times), BATCH_SIZE):
        some = times[first : first + BATCH_SIZE]
        people = [
            guest(had + first + number, draw)
            if draw.random() < SHARE_OF_GUESTS
            else person_of(draw.choice(users), draw)
            for number in range(len(some))
        ]
        try:
            load_batch(some, people, wares, now=now, draw=draw)
        except IntegrityError:
            # PostgreSQL drew a short number that another order has. It draws another the next time.
            load_batch(some, people, wares, now=now, draw=draw)
        report_progress(first + len(some), len(times))
    with connection.cursor() as cursor:
        # Autovacuum would do this within a minute. Without it, plans are made for empty tables.
        cursor.execute("ANALYZE")
    return len(times)


def demo_orders_count() -> int:
    first, last = UUID(int=NUMBER_START << 96), UUID(int=((NUMBER_START + 1) << 96) - 1)
    return Order.objects.filter(number__range=(first, last)).count()


def demo_wares() -> list[Ware]:
    """The variants of the assortment and of long lists, the most wanted first."""
    variants = Variant.objects.order_by("pk")
    named = variants.filter(product__slug__in=[product["slug"] for product in PRODUCTS])
    many = variants.filter(product__slug__startswith=SLUG_BEGINNING)
    columns = ("pk", "price_minor", "product__tax_rate__percent")
    found = [Ware(*row) for row in (*named.values_list(*columns), *many.values_list(*columns))]
    random.Random(0).shuffle(found)
    return found


def load_batch(
    times: Sequence[datetime],
    people: Sequence[DemoPerson],
    wares: Sequence[Ware],
    *,
    now: datetime,
    draw: random.Random,
) -> None:
    rows = OrderRows()
    baskets = [basket_of(wares, draw) for _ in times]
    identities = identities_of([len(basket) for basket in baskets])
    for created_at, person, basket, identity in zip(times, people, baskets, identities, strict=True):
        add_order(rows, plan(created_at, now=now, draw=draw), person, identity, basket, draw)
    with transaction.atomic():
        for model, its_rows in rows.tables.items():
            copy_rows(model, its_rows)
        record_past(rows.movements)


def basket_of(wares: Sequence[Ware], draw: random.Random) -> list[tuple[Ware, int]]:
    """Some variants, each once, and how many units of it; a few variants are wanted much more than others."""
    (count,) = draw.choices((1, 2, 3, 4), LINES_WEIGHTS)
    places = dict.fromkeys(int(len(wares) * draw.random() ** 2) for _ in range(count))
    return [(wares[place], draw.choices((1, 2, 3), UNITS_WEIGHTS)[0]) for place in places]


def identities_of(lines_counts: Sequence[int]) -> Iterator[Identity]:
    """Ids and short numbers for orders with so many lines each."""
    with connection.cursor() as cursor:
        cursor.execute(IDENTITIES, [len(lines_counts)])
        orders = cursor.fetchall()
        cursor.execute(LINE_IDS, [sum(lines_counts)])
        line_ids = iter([line_id for (line_id,) in cursor.fetchall()])
    for (order_id, code), count in zip(orders, lines_counts, strict=True):
        number = UUID(int=NUMBER_START << 96 | uuid4().int >> 32)
        yield Identity(order_id, code, number, [next(line_ids) for _ in range(count)])
