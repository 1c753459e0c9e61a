"""The figures of /metrics for Prometheus. They are 0, or small, while the shop keeps its promises.

Processes of a shop start and stop all the time, so none of them keeps a counter. Each figure comes from PostgreSQL (an
index of the outstanding rows alone), from the reservation store, from the broker, or from the cache: what all processes
together have counted and noted. While one of these servers is away, or silent, the figures of the others are given in
time, and `stampede_source_up` says which one is missing.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TypeVar

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seckill.items import item_state
from seckill.models import movable_items
from seckill.waiting_room.admission import moving_sales
from shop.background.bounded_thread import in_time
from shop.background.outages import AWAY, go_on, wait
from shop.http.health import THREADS, source_answers
from web.metrics.item_figures import (
    outbox_metrics,
    people_metrics,
    replica_metrics,
    unverified_metric,
    unverified_since,
)
from web.metrics.queue_figures import queue_metrics, sweep_metrics
from web.metrics.row_figures import row_metrics
from web.metrics.shared_figures import audit_metrics, counter_metrics, weak_setting_metric

log = structlog.get_logger(__name__)

T = TypeVar("T")

# The items of the last scrape that could ask PostgreSQL: their outboxes are watched while it is away. In the cache,
# because each scrape may meet another process.
ITEMS_KEY = "web.metrics.items"
# A whole scrape: Prometheus gives up after ten seconds, and people who look sooner.
SCRAPE_SECONDS = 2.0


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The figures; 401 without the token, where the shop has one."""
    wanted = f"Bearer {settings.METRICS_TOKEN}"
    if settings.METRICS_TOKEN and not constant_time_compare(request.headers.get("Authorization", ""), wanted):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ShopCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class ShopCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        sources = Sources()
        # Questions that need no other answer go out at once, since a silent server takes most of the time of a scrape.
        lengths = sources.begin("broker", queue_metrics)
        rows = sources.begin("database", row_metrics)
        for figures in (audit_metrics, counter_metrics, weak_setting_metric, sweep_metrics):
            yield from sources.read("cache", figures, missing=())
        item_ids = watched_items(sources)
        yield from sources.read("reservation_store", lambda: outbox_metrics(item_ids), missing=())
        yield unverified_items(sources, item_ids)
        rooms = moving_sales().prefetch_related(None).values_list("pk", flat=True)
        sale_ids = sources.read("database", lambda: rooms, missing=())
        yield from sources.read("reservation_store", lambda: people_metrics(item_ids, sale_ids), missing=())
        yield from sources.read("reservation_store", replica_metrics, missing=())
        yield from sources.answer("database", rows, missing=())
        yield from sources.answer("broker", lengths, missing=())
        yield source_metric(sources.up)


class Sources:
    """The servers, and which of them have answered so far in this scrape."""

    def __init__(self) -> None:
        self._until_s = time.monotonic() + SCRAPE_SECONDS
        self.up = {source: answer == "ok" for source, answer in source_answers().items()}

    def read(self, source: str, figures: Callable[[], Iterable[T]], *, missing: Sequence[T]) -> Sequence[T]:
        """What the server says; `missing` if it is away. It is not asked again after a failure."""
        return self.answer(source, self.begin(source, figures), missing=missing)

    def begin(self, source: str, figures: Callable[[], Iterable[T]]) -> Future[list[T]] | None:
        """For `answer`: ask the server, unless it is away."""
        return THREADS[source].begin(lambda: list(figures())) if self.up[source] else None

    def answer(self, source: str, asked: Future[list[T]] | None, *, missing: Sequence[T]) -> Sequence[T]:
        if asked is None or not self.up[source]:
            return missing
        work = f"figures of {source}"
        try:
            found = in_time(asked, until_s=self._until_s)
        except (DatabaseError, TimeoutError, *AWAY) as error:
            wait(work, error)
            self.up[source] = False
            return missing
        except Exception:
            # A defect of ours, in one figure, must not hide the others.
            log.exception("figures_failed", source=source)
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


def unverified_items(sources: Sources, item_ids: Sequence[int]) -> Metric:
    """The store says which items are not verified, and the cache since when."""
    conditions = dict(
        sources.read("reservation_store", lambda: item_state.conditions(item_ids=item_ids).items(), missing=())
    )
    since = sources.read("cache", lambda: unverified_since(conditions), missing=())
    return unverified_metric(conditions, dict(since))
