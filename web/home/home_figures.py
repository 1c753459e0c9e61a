"""What the first page of the admin shows, read at most every other second in each process, for all who look at it.

Each part comes from one server. While a server is away, its part is what it said last. All readers share
these figures; web/home/home_page.py shows each of them what this person may see.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from orders.models import ATTENTION_TO_DO, BY_HAND, Order, PaymentEvent, Refund, RefusedReceipt, waiting_requests
from orders.preflight.kept import Result, last_results
from orders.repair.audit import last_result as last_audit
from seckill import ledger
from seckill.ledger import Counters
from seckill.models import Sale, SaleChange, SaleItem
from seckill.staff.phase_filter import open_first
from shop.background.bounded_thread import BoundedThread
from shop.background.queued_tasks import Sweep, known_sweeps
from shop.background.sweep_notes import last_notes
from shop.http.health import SOURCES
from shop.models import Variant
from shop.stock.low_stock import is_for_sale, is_low
from web.board.source import Source
from web.home.day_sums import DaySum, DaySums

# How old the figures are at most when nothing is away; and how long a server is waited for.
FRESH_SECONDS = 2.0
ANSWER_SECONDS = 1.2
# Lists and counts on the page end here.
SALES_MAX = 12
LOW_MAX = 8
COUNT_MAX = 99
# As the alert StampedeSweepLate: a sweep that has not done its work for three intervals and this long is late.
LATE_INTERVALS = 3
LATE_SECONDS = 120.0
# The sweep that audits.
AUDIT = "audit_sales"

# Sums may take PostgreSQL long, and nothing waits for them.
THREADS = {name: BoundedThread(name=f"home-{name}") for name in (*SOURCES, "sums")}


@dataclass(frozen=True, slots=True)
class Rows:
    """What PostgreSQL says. Each list has one row more than is shown, if there are more."""

    sales: Sequence[Sale] = ()
    items: Mapping[int, Sequence[SaleItem]] = field(default_factory=dict)
    to_do: Mapping[str, int] = field(default_factory=dict)
    low: Sequence[Variant] = ()


@dataclass(frozen=True, slots=True)
class Notes:
    """What the cache server remembers. `audit` is when the last one was, in seconds since 1970, and its differences.

    `late_queues` are those of sweeps that were not done in time; `all_late` where that is so for every sweep, and
    `audit_late` for audits.
    """

    results: Mapping[int, Result]
    late_queues: Sequence[str]
    all_late: bool
    audit_late: bool
    audit: tuple[float, int] | None


@dataclass(frozen=True, slots=True)
class Known:
    """None is a part of which nobody has said anything yet. `states` are those of the servers, by their names."""

    rows: Rows | None = None
    sums: Sequence[DaySum] | None = None
    notes: Notes | None = None
    counters: Mapping[int, Counters | None] = field(default_factory=dict)
    states: Mapping[str, Mapping[str, bool | int | None]] = field(default_factory=dict)


class Home:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made_s = -FRESH_SECONDS
        self._known = Known()
        self._day_sums = DaySums()
        self._database: Source[Rows] = Source("home: database", THREADS["database"])
        self._sums: Source[list[DaySum]] = Source("home: sums", THREADS["sums"])
        self._cache: Source[Notes] = Source("home: cache", THREADS["cache"])
        self._store: Source[dict[int, Counters | None]] = Source("home: store", THREADS["reservation_store"])
        self._broker: Source[object] = Source("home: broker", THREADS["broker"])

    def known(self) -> Known:
        """Everybody who asks meanwhile waits for one answer, and gets it."""
        with self._lock:
            if time.monotonic() - self._made_s >= FRESH_SECONDS:
                self._known = self._read()
                self._made_s = time.monotonic()
            return self._known

    def _read(self) -> Known:
        # The first time, this imports all tasks; no server is waited for meanwhile.
        sweeps = known_sweeps()
        before = self._known
        until_s = time.monotonic() + ANSWER_SECONDS
        self._sums.ask(self._day_sums.read)
        self._broker.ask(SOURCES["broker"])
        self._database.ask(read_rows)
        rows = self._database.answer(until_s=until_s) or before.rows or Rows()
        sale_ids = [sale.pk for sale in rows.sales]
        item_ids = [item.pk for items in rows.items.values() for item in items]
        self._store.ask(lambda: read_counters(item_ids))
        self._cache.ask(lambda: read_notes(sale_ids, sweeps))
        until_s = time.monotonic() + ANSWER_SECONDS
        counters = self._store.answer(until_s=until_s)
        notes = self._cache.answer(until_s=until_s)
        self._broker.answer(until_s=until_s)
        sums = self._sums.answer(until_s=until_s)
        return Known(
            rows=rows if self._database.as_of_ms else None,
            sums=before.sums if sums is None else sums,
            notes=before.notes if notes is None else notes,
            counters=before.counters if counters is None else counters,
            states={
                "database": self._database.state,
                "sums": self._sums.state,
                "reservation_store": self._store.state,
                "cache": self._cache.state,
                "broker": self._broker.state,
            },
        )


def read_rows() -> Rows:
    sales = list(Sale.objects.filter(closes_at__gt=timezone.now()).order_by(*open_first())[: SALES_MAX + 1])
    items: dict[int, list[SaleItem]] = {sale.pk: [] for sale in sales}
    for item in SaleItem.objects.select_related("variant").filter(sale__in=sales).order_by("pk"):
        items[item.sale_id].append(item)
    low = Variant.objects.filter(is_for_sale(), is_low()).select_related("product").order_by("available", "pk")
    to_do = {name: rows.all()[: COUNT_MAX + 1].count() for name, rows in TO_DO.items()}
    return Rows(sales, items, to_do, list(low[: LOW_MAX + 1]))


# What a person must do something about. Each is counted by an index of such rows alone.
TO_DO: dict[str, QuerySet[Any]] = {
    "approvals": waiting_requests().order_by(),
    "orders": Order.objects.filter(~Q(attention=""), attention__in=ATTENTION_TO_DO).order_by(),
    "receipts": RefusedReceipt.objects.filter(done_at=None).order_by(),
    "refunds": Refund.objects.filter(BY_HAND).order_by(),
    "events": PaymentEvent.objects.filter(applied_at=None).order_by(),
    "changes": SaleChange.objects.filter(status=SaleChange.Status.PENDING).order_by(),
}


def read_counters(item_ids: Sequence[int]) -> dict[int, Counters | None]:
    """By item; an item is missing while its server is silent, and None while nothing of it can be reserved."""
    SOURCES["reservation_store"]()
    return ledger.read_many(item_ids=item_ids) if item_ids else {}


def read_notes(sale_ids: Sequence[int], sweeps: Mapping[str, Sweep]) -> Notes:
    now_s = time.time()
    late = [
        name
        for name, note in last_notes(sweeps).items()
        if now_s - note.at_s > LATE_INTERVALS * sweeps[name].every_seconds + LATE_SECONDS
    ]
    audit = last_audit()
    return Notes(
        results=last_results(sale_ids),
        late_queues=sorted({sweeps[name].queue for name in late}),
        all_late=len(late) == len(sweeps),
        audit_late=AUDIT in late,
        audit=(audit[0], sum(audit[1].values())) if audit else None,
    )
