"""The figures of /metrics for Prometheus. They are 0, or small, while the shop keeps its promises.

Processes of a shop start and stop all the time, so none of them keeps a counter. Each figure comes from PostgreSQL (an
index of the outstanding rows alone), from the outboxes in the reservation store, or from the cache: the last audit, and
how often the reservation store failed. While one of these servers is away, or silent, the figures of the others are
given in time, and `stampede_source_up` says which one is missing.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.cache import cache
from django.db import Error as DatabaseError
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from orders.models import ATTENTION_TO_DO, Mail, Order, OrderStatus, PaymentEvent, Refund
from orders.repair.audit import last_result
from seckill.live import answer_counts
from seckill.models import SaleChange, movable_items
from seckill.outbox import outbox
from seckill.store.failures import failure_counts
from shop.background.bounded_thread import in_time
from shop.background.outages import AWAY, go_on, wait
from shop.http.health import THREADS, source_answers

T = TypeVar("T")

# The items of the last scrape that could ask PostgreSQL: their outboxes are watched while it is away. In the cache,
# because each scrape may meet another process.
ITEMS_KEY = "web.metrics.items"
# A whole scrape: Prometheus gives up after ten seconds, and people who look sooner.
SCRAPE_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class RowCount:
    """A metric that counts rows. The query runs at each scrape."""

    name: str
    help_text: str
    rows: QuerySet[Any]


AWAITING_PAYMENT = Q(status=OrderStatus.AWAITING_PAYMENT)

ROW_COUNTS = [
    RowCount(
        name="stampede_orders_overdue",
        help_text="Unpaid orders past their deadline",
        rows=Order.objects.filter(AWAITING_PAYMENT, expires_at__lt=Now()),
    ),
    RowCount(
        name="stampede_orders_unsettled",
        help_text="Ended orders that are not settled in the reservation store",
        rows=Order.objects.filter(~AWAITING_PAYMENT, settled_at=None),
    ),
    RowCount(
        name="stampede_orders_needing_attention",
        help_text="Orders that a person must act on",
        rows=Order.objects.filter(~Q(attention=""), attention__in=ATTENTION_TO_DO),
    ),
    RowCount(
        name="stampede_payment_events_waiting",
        help_text="Webhooks that wait for their payment",
        rows=PaymentEvent.objects.filter(applied_at=None),
    ),
    RowCount(
        name="stampede_refunds_due",
        help_text="Refunds that the provider has not confirmed",
        rows=Refund.objects.filter(status=Refund.Status.DUE),
    ),
    RowCount(
        name="stampede_mails_unsent",
        help_text="Mails that are still to be sent",
        rows=Mail.objects.filter(sent_at=None, next_attempt_at__isnull=False),
    ),
    RowCount(
        name="stampede_changes_pending",
        help_text="Changes of running sales that the store has not applied",
        rows=SaleChange.objects.filter(status=SaleChange.Status.PENDING),
    ),
]


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ShopCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class ShopCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        sources = Sources()
        yield from sources.read("cache", audit_metrics, missing=())
        yield from sources.read("cache", counter_metrics, missing=())
        item_ids = watched_items(sources)
        yield from sources.read("reservation_store", lambda: outbox_metrics(item_ids), missing=())
        yield from sources.read("database", row_metrics, missing=())
        yield source_metric(sources.up)


class Sources:
    """The servers, and which of them have answered so far in this scrape."""

    def __init__(self) -> None:
        self._until_s = time.monotonic() + SCRAPE_SECONDS
        self.up = {source: answer == "ok" for source, answer in source_answers().items()}

    def read(self, source: str, figures: Callable[[], Iterable[T]], *, missing: Sequence[T]) -> Sequence[T]:
        """What the server says; `missing` if it is away. It is not asked again after a failure."""
        if not self.up[source]:
            return missing
        work = f"figures of {source}"
        try:
            found = in_time(THREADS[source].begin(lambda: list(figures())), until_s=self._until_s)
        except (DatabaseError, TimeoutError, *AWAY) as error:
            wait(work, error)
            self.up[source] = False
            return missing
        go_on(work)
        return found


def source_metric(up: dict[str, bool]) -> Metric:
    metric = GaugeMetricFamily(
        "stampede_source_up", "Whether the server answers; without it, its figures are missing", labels=["source"]
    )
    for source, answers in up.items():
        metric.add_metric([source], answers)
    return metric


def row_metrics() -> Iterator[Metric]:
    for metric in ROW_COUNTS:
        yield GaugeMetricFamily(metric.name, metric.help_text, value=metric.rows.count())


def watched_items(sources: Sources) -> Sequence[int]:
    """The items that may have reservations; those of an earlier scrape while PostgreSQL is away."""

    def remembered() -> Sequence[int]:
        return list(cache.get(ITEMS_KEY, []))

    def movable() -> Iterator[int]:
        return movable_items().values_list("pk", flat=True).iterator()

    def remember() -> Iterator[int]:
        cache.set(ITEMS_KEY, item_ids, timeout=None)
        yield from item_ids

    item_ids = sources.read("database", movable, missing=())
    return sources.read("cache", remember if sources.up["database"] else remembered, missing=item_ids)


def audit_metrics() -> Iterator[Metric]:
    """`stampede_audit_differences` must be 0, and `stampede_audit_age_seconds` must stay below a few minutes."""
    differences = GaugeMetricFamily(
        "stampede_audit_differences",
        "Reservations and totals on which the two stores disagree; must be 0",
        labels=["item"],
    )
    last = last_result()
    if last is not None:
        at_s, problems_of_item = last
        for item_id, problems in problems_of_item.items():
            differences.add_metric([str(item_id)], problems)
        age_seconds = timezone.now().timestamp() - at_s
        yield GaugeMetricFamily("stampede_audit_age_seconds", "Seconds since the last audit", value=age_seconds)
    yield differences


def outbox_metrics(item_ids: Sequence[int]) -> Iterator[Metric]:
    """How many reservations of each item are not orders yet, and since when."""
    backlog = GaugeMetricFamily(
        "stampede_outbox_backlog", "Reservations that are not orders yet; entries of the item's outbox", labels=["item"]
    )
    lag = GaugeMetricFamily(
        "stampede_outbox_lag_seconds", "Age of the oldest reservation that is not an order yet", labels=["item"]
    )
    for item_id, waiting in outbox.waiting(item_ids=item_ids).items():
        backlog.add_metric([str(item_id)], waiting.entries)
        lag.add_metric([str(item_id)], waiting.oldest_ms / 1000)
    yield backlog
    yield lag


def counter_metrics() -> Iterator[Metric]:
    yield store_failure_metric()
    yield answer_metric()


def store_failure_metric() -> Metric:
    """`stampede_store_failures_total` by cause; a cause that never happened is 0."""
    counter = CounterMetricFamily(
        "stampede_store_failures", "Calls to the reservation store that failed, by cause", labels=["cause"]
    )
    for cause, count in failure_counts().items():
        counter.add_metric([cause.value], count)
    return counter


def answer_metric() -> Metric:
    """`stampede_answers_total` by word: a yes, a refusal with its reason, or an error."""
    counter = CounterMetricFamily("stampede_answers", "Calls to reserve, by their answer", labels=["answer"])
    for word, count in answer_counts.in_all().items():
        counter.add_metric([word], count)
    return counter
