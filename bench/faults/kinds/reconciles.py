"""The store restarts while there is much to compare, or while a change of the stock was half done."""

import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from bench import load_buyers
from bench.faults.fault import Fault, TrialContext
from bench.faults.trial_sale import SALE_SECONDS, Stock, new_item
from bench.load_sale import retire
from orders.life import lifecycle
from orders.models import Order, OrderLine, OrderStatus
from orders.repair.audit import audit
from orders.units.taken import take
from seckill import ledger
from seckill.ledger_words import Restoration, RestoreAs
from seckill.models import SaleItem
from seckill.store.client import StoreUnreachable
from shop.times.timestamps import to_ms

HOLDS = 100_000
PAYMENTS_PER_SECOND = 10.0
# Enough for the whole trial.
PAYMENTS_MAX = 1_000
# Two cores run everything, and the sweep reconciles the trial's own item as well.
RECONCILED_SECONDS_MAX = 30.0
# Payments that were recorded before the item was verified are settled by a sweep.
SETTLED_SECONDS_MAX = 10.0
PAY_SECONDS_BEFORE = 1.0
BUYERS = 1_000
BATCH = 2_000


class ReconcileUnderPayments(Fault):
    """Beside the trial's sale, another item has 100,000 open orders, of which ten a second are paid all the time."""

    name = "reconcile-under-payments"
    description = "kill -9 of the store while 10 payments a second arrive for an item with 100,000 holds"
    duration_seconds = 0.0

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._item = item_with_orders(name=f"{context.trial} large", count=HOLDS)
        orders = Order.objects.filter(lines__sale_item=self._item).order_by("pk")
        self._order_ids = list(orders.values_list("pk", flat=True)[:PAYMENTS_MAX])
        self._stop = threading.Event()
        self._paid: list[int] = []
        self._seconds: float | None = None

    def inject(self) -> None:
        payer = threading.Thread(target=self._pay)
        payer.start()
        try:
            self.shop.wait(PAY_SECONDS_BEFORE)
            paid_before = len(self._paid)
            self.shop.kill("store")
            killed_s = time.monotonic()
            self.shop.wait_until(lambda: not self._is_verified(), seconds_max=RECONCILED_SECONDS_MAX)
            if self.shop.wait_until(self._is_verified, seconds_max=RECONCILED_SECONDS_MAX):
                self._seconds = time.monotonic() - killed_s
            paid_meanwhile = len(self._paid) - paid_before
        finally:
            self._stop.set()
            payer.join()
        took = "not" if self._seconds is None else f"after {self._seconds:.1f} s"
        self.variant = f"verified {took}, {paid_meanwhile} payments meanwhile"
        self.happened = paid_meanwhile > 0

    def _pay(self) -> None:
        try:
            for order_id in self._order_ids:
                if self._stop.wait(1 / PAYMENTS_PER_SECOND):
                    return
                if lifecycle.pay(order_id=order_id):
                    self._paid.append(order_id)
        finally:
            connection.close()

    def _is_verified(self) -> bool:
        try:
            return ledger.read(item_id=self._item.pk) is not None
        except StoreUnreachable:
            return False

    def violations(self) -> Sequence[str]:
        connection.close()
        violations = []
        if self._seconds is None:
            violations.append(f"an item with {HOLDS:,} holds was not verified in {RECONCILED_SECONDS_MAX:.0f} s")
        unsettled = Order.objects.filter(pk__in=self._paid, settled_at=None)
        if not self.shop.wait_until(lambda: not unsettled.exists(), seconds_max=SETTLED_SECONDS_MAX):
            violations.append(f"{unsettled.count()} paid orders are not settled")
        comparison = audit(item_id=self._item.pk).comparison
        problems = [*comparison.differences, *comparison.mismatched_totals]
        retire(self._item)
        return [*violations, *(f"audit of the large item: {problem}" for problem in problems[:5])]


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
