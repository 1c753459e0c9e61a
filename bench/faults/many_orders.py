"""An item with very many open orders, written directly: buying them would take longer than all trials together."""

import itertools
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from bench import load_buyers
from bench.faults.trial_sale import SALE_SECONDS, Stock, new_item
from orders.models import Order, OrderLine, OrderStatus
from orders.units.taken import take
from seckill import ledger
from seckill.ledger_words import Restoration, RestoreAs
from seckill.models import SaleItem
from shop.times.timestamps import to_ms

BUYERS = 1_000
BATCH = 2_000


def item_with_orders(*, name: str, count: int) -> SaleItem:
    """An item on sale with `count` orders of one unit that await payment, and their holds in the store."""
    item = new_item(name, Stock(quantity=2 * count, per_buyer_max=count, hold_seconds=SALE_SECONDS))
    buyer_ids = itertools.cycle(load_buyers.load_buyer_ids(count=BUYERS))
    for size in batch_sizes(count):
        orders = write_orders(item, [next(buyer_ids) for _ in range(size)])
        holds = [
            Restoration(order.reservation_id, order.reserved_by, 1, to_ms(order.expires_at), RestoreAs.HELD)
            for order in orders
            if order.reservation_id
        ]
        ledger.restore_many(item_id=item.pk, restorations=holds)
    with connection.cursor() as cursor:
        # Autovacuum would do this within a minute. Without it, plans are made for empty tables.
        cursor.execute("ANALYZE")
    return item


def batch_sizes(count: int) -> Iterator[int]:
    for start in range(0, count, BATCH):
        yield min(BATCH, count - start)


def write_orders(item: SaleItem, buyer_ids: list[int]) -> list[Order]:
    now = timezone.now()
    with transaction.atomic():
        orders = Order.objects.bulk_create(
            Order(
                reservation_id=uuid4(),
                buyer_id=buyer_id,
                status=OrderStatus.AWAITING_PAYMENT,
                amount_minor=item.price_minor,
                currency=settings.CURRENCY,
                reserved_at=now,
                expires_at=now + timedelta(seconds=SALE_SECONDS),
            )
            for buyer_id in buyer_ids
        )
        OrderLine.objects.bulk_create(
            OrderLine(
                order=order, variant_id=item.variant_id, sale_item=item, units=1, unit_price_minor=item.price_minor
            )
            for order in orders
        )
        assert take(item_id=item.pk, units=len(orders))
    return orders
