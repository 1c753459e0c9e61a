"""The figures of /metrics for Prometheus. They are 0, or small, while the shop keeps its promises.

Processes of a shop start and stop all the time, so none of them keeps a counter. Each figure comes from PostgreSQL (an
index of the outstanding rows alone), from the outboxes in the reservation store, or from the cache: the last audit, and
how often the reservation store failed. While one of these servers is away, or silent, the figures of the others are
given in time, and `stampede_source_up` says which one is missing.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from django.core.cache import cache
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seckill.models import movable_items
from shop.background.bounded_thread import in_time
from shop.background.outages import AWAY, go_on, wait
from shop.http.health import THREADS, source_answers
from web.metrics.item_figures import outbox_metrics
from web.metrics.row_figures import row_metrics
from web.metrics.shared_figures import audit_metrics, counter_metrics

T = TypeVar("T")

# The items of the last scrape that could ask PostgreSQL: their outboxes are watched while it is away. In the cache,
# because each scrape may meet another process.
ITEMS_KEY = "web.metrics.items"
# A whole scrape: Prometheus gives up after ten seconds, and people who look sooner.
SCRAPE_SECONDS = 2.0


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
