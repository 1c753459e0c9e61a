"""The real shop for the machine: one item in its own store and in PostgreSQL, and what both hold."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple
from unittest import mock

from django.db import connection
from django.db.models import Model as Row
from django.db.models.functions import Now
from django.utils import timezone

from orders.life import intake
from orders.models import (
    Document,
    Mail,
    Order,
    OrderLine,
    Payment,
    PaymentEvent,
    Refund,
    RefundLine,
    RefusedReceipt,
    ShippingAddress,
    StoreRepair,
)
from seckill.items import item_state
from seckill.line import line_ledger
from seckill.models import Sale, SaleChange, SaleItem
from seckill.outbox import outbox
from seckill.publication import publish_sale
from shop import failpoints
from shop.models import Product
from shop.times.timestamps import from_ms, to_ms
from tests.orders.properties.sale_model import UPCOMING, Terms
from tests.own_store import OwnStore
from tests.steps.shop import variant_of
from tests.steps.store import StoredItem, texts

HOUR = timedelta(hours=1)
# In the order in which rows may be deleted.
ROWS: tuple[type[Row], ...] = (
    *(Document, RefundLine, Refund, Mail, PaymentEvent, Payment, ShippingAddress, OrderLine, Order),
    *(StoreRepair, RefusedReceipt, SaleChange, SaleItem, Sale),
)


# Of one sale alone: the rows of the sale before are deleted.
RECORDED = """
    SELECT quantity, per_buyer_max, taken FROM seckill_saleitem;

    SELECT reservation_id::text, buyer_id, units, status, settled_at IS NOT NULL, units_back, refunded_minor,
        amount_minor
    FROM orders_order JOIN orders_orderline ON order_id = orders_order.id;

    SELECT id::text, status FROM orders_payment;

    SELECT reservation_id::text, coalesce(payment_id::text, ''), refund.amount_minor, refund.status, is_surplus,
        orders_payment.amount_minor
    FROM orders_refund refund JOIN orders_order ON refund.order_id = orders_order.id
        LEFT JOIN orders_payment ON payment_id = orders_payment.id
"""


class Crash(BaseException):
    """The process crashes: no handler catches this, and open transactions are rolled back."""


@dataclass(frozen=True)
class Cast:
    """Shared by all examples: the product, and the buyers by their numbers in the model."""

    product: Product
    buyer_ids: list[int]


@dataclass(frozen=True)
class Stored:
    """What the store holds of the item: texts, but for the units by buyer.

    `holds`: state, buyer and units by reservation. `outbox`: by reservation, whether a worker has read it, in the order
    of the stream. `line`: buyer and reservation, in the order in which they came.
    """

    item: dict[str, str]
    buyers: Counter[int]
    holds: dict[str, tuple[str, ...]]
    outbox: dict[str, bool]
    line: list[tuple[str, str]]


class RecordedOrder(NamedTuple):
    reservation: str
    buyer_id: int
    units: int
    status: str
    settled: bool
    units_back: bool
    refunded_minor: int
    amount_minor: int


class RecordedRefund(NamedTuple):
    """`page` is the id of the payment; it is empty and `paid_minor` None where staff return the money themselves."""

    reservation: str
    page: str
    amount_minor: int
    status: str
    is_surplus: bool
    paid_minor: int | None


@dataclass(frozen=True)
class Recorded:
    """What PostgreSQL holds of the sale. `item`: quantity, limit and taken. `payments`: statuses by id."""

    item: tuple[int | None, int, int]
    orders: list[RecordedOrder]
    payments: dict[str, str]
    refunds: list[RecordedRefund]


class World(StoredItem):
    """An item that was just published."""

    def __init__(self, store: OwnStore, cast: Cast, terms: Terms) -> None:
        store.client.flushall()
        run_sql(*(f"DELETE FROM {rows._meta.db_table}" for rows in ROWS))
        self.store = store
        self.cast = cast
        now = timezone.now()
        opens_at = now + HOUR if terms.window == UPCOMING else now - HOUR
        self.sale = Sale.objects.create(
            name="Spring sale", opens_at=opens_at, closes_at=now + 2 * HOUR, waiting_list=terms.waiting_list
        )
        self.item_id = SaleItem.objects.create(
            sale=self.sale,
            variant=variant_of(cast.product),
            quantity=terms.quantity,
            per_buyer_max=terms.limit,
            price_minor=variant_of(cast.product).price_minor,
        ).pk
        super().__init__(store.client, self.item_id)
        with commits_that_wait():
            assert publish_sale(sale_id=self.sale.pk)
        self.dumped: dict[bytes, bytes] = {}

    # --- time, and dying ---

    def doors_open(self, *, in_store: bool) -> None:
        """The sale opens."""
        opens_at = from_ms(to_ms(timezone.now() - HOUR))
        Sale.objects.filter(pk=self.sale.pk).update(opens_at=opens_at)
        if in_store:
            self.client.hset(self.keys.item, "opens_ms", to_ms(opens_at))

    def let_pass(self, reservation: str, *, turn: int) -> None:
        """The deadline of an order passes, after those of lower turns."""
        expires_at = Now() - HOUR + timedelta(seconds=turn)
        Order.objects.filter(reservation_id=reservation).update(expires_at=expires_at)

    @contextmanager
    def dying_at(self, place: str) -> Iterator[None]:
        """Crash when the code reaches this place. An empty place is never reached."""
        with ExitStack() as stack:
            if place == "intake.before_commit":
                stack.enter_context(mock.patch.object(intake, "take", side_effect=Crash))
            elif place == "intake.after_commit":
                stack.enter_context(mock.patch.object(outbox, "acknowledge", side_effect=Crash))
            elif place == "reconcile.before_verified":
                stack.enter_context(mock.patch.object(item_state, "mark_verified", side_effect=Crash))
            elif place:
                stack.enter_context(mock.patch.object(failpoints, "reach", dies_at(place)))
            with suppress(Crash):
                yield

    # --- backup ---

    def back_up(self) -> None:
        self.dumped = {key: self.client.dump(key) for key in self.client.scan_iter()}

    def put_back(self) -> None:
        """Empty the store, load the backup into it, and restart it."""
        self.client.flushall()
        for key, value in self.dumped.items():
            self.client.restore(key, 0, value)
        self.store.kill()
        self.store.start()

    # --- what is there ---

    def order_id(self, reservation: str) -> int:
        return Order.objects.values_list("pk", flat=True).get(reservation_id=reservation)

    def stored(self) -> Stored:
        """Asked in one call, since it is asked after each step."""
        keys, pipeline = self.keys, self.client.pipeline(transaction=False)
        for key in (keys.item, keys.buyers, keys.holds, keys.places):
            pipeline.hgetall(key)
        pipeline.xrange(keys.outbox).xpending_range(keys.outbox, outbox.GROUP, "-", "+", 1_000)
        *hashes, entries, pending, line = pipeline.zrange(keys.line, 0, -1, withscores=True).execute()
        item, buyers, holds, places = map(texts, hashes)
        read = {row["message_id"] for row in pending}
        waiting = sorted(line, key=lambda place: place[1] % line_ledger.SHIFT)
        return Stored(
            item=item,
            buyers=Counter({int(buyer): int(units) for buyer, units in buyers.items()}),
            holds={name: tuple(hold.split(":")[:3]) for name, hold in holds.items()},
            outbox={fields[b"reservation"].decode(): entry_id in read for entry_id, fields in entries},
            line=[(buyer.decode(), places[buyer.decode()].split(":")[0]) for buyer, _ in waiting],
        )

    def recorded(self) -> Recorded:
        """Asked in one call as well."""
        with connection.cursor() as cursor:
            cursor.execute(RECORDED)
            results = [cursor.fetchall()]
            while cursor.nextset():
                results.append(cursor.fetchall())
        (item,), orders, payments, refunds = results
        return Recorded(
            item=item,
            orders=[RecordedOrder(*row) for row in orders],
            payments=dict(payments),
            refunds=[RecordedRefund(*row) for row in refunds],
        )


@contextmanager
def commits_that_wait() -> Iterator[None]:
    """Switch synchronous_commit on: no sale opens without it. Elsewhere it is off, as PostgreSQL is not killed here."""
    run_sql("RESET synchronous_commit")
    try:
        yield
    finally:
        run_sql("SET synchronous_commit = off")


def run_sql(*statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(";".join(statements))


def dies_at(place: str) -> Any:
    def reach(name: str) -> None:
        if name == place:
            raise Crash

    return reach
