"""What all processes together have counted and noted: the cache server has it."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from orders.life.intake import REJECTED, broken_yeses
from orders.repair.audit import last_result
from orders.repair.nightly_stock_audit import stock_differences
from seckill.live import answer_counts
from seckill.store.failures import failure_counts
from seckill.store.weak_settings import weak_servers
from shop.background.shared_histogram import Durations
from shop.http.endpoints import all_endpoints, endpoint_seconds
from web.lanes import full_lanes, lane_seconds, lanes
from web.reservations.calls import ENDPOINTS

# Endpoints of a crowd: they are there from the start, so that their first minute is seen.
CROWDED = frozenset(ENDPOINTS.values())


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
    stock = stock_differences()
    if stock is not None:
        text = "Figures on which stock, journal, orders and sales disagreed last night; must be 0"
        yield GaugeMetricFamily("stampede_stock_differences", text, value=stock)


def counter_metrics() -> Iterator[Metric]:
    yield store_failure_metric()
    yield answer_metric()
    yield from lane_metrics()
    yield endpoint_metric()
    yield CounterMetricFamily(
        "stampede_orders_rejected",
        "Buyers who were told yes and got a rejected order, since the store had lost it; must be 0",
        value=broken_yeses.in_all_processes([REJECTED])[REJECTED],
    )


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


def lane_metrics() -> Iterator[Metric]:
    """How long requests take in each lane of threads, and how many found no thread in time."""
    names = [lane.name for lane in lanes()]
    seconds = HistogramMetricFamily(
        "stampede_lane_seconds", "From a request's arrival in its lane to its answer", labels=["lane"]
    )
    full = CounterMetricFamily(
        "stampede_lane_full", "Requests that were refused since no thread of their lane was free", labels=["lane"]
    )
    refused = full_lanes.in_all_processes(names)
    for name, durations in lane_seconds.in_all_processes(names).items():
        add_durations(seconds, name, durations, bounds=lane_seconds.bounds)
        full.add_metric([name], refused[name])
    yield from (seconds, full)


def endpoint_metric() -> Metric:
    """How long requests take, by the name of their route. Most are left out until they are called: there are many."""
    seconds = HistogramMetricFamily(
        "stampede_endpoint_seconds", "From a request's arrival to its answer, by route", labels=["endpoint"]
    )
    for name, durations in endpoint_seconds.in_all_processes(all_endpoints()).items():
        if name in CROWDED or any(durations.counts):
            add_durations(seconds, name, durations, bounds=endpoint_seconds.bounds)
    return seconds


def add_durations(metric: HistogramMetricFamily, name: str, durations: Durations, *, bounds: Sequence[float]) -> None:
    buckets = list(zip([*map(str, bounds), "+Inf"], accumulate(durations.counts), strict=True))
    metric.add_metric([name], buckets=buckets, sum_value=durations.seconds)


def weak_setting_metric() -> Iterator[Metric]:
    """`stampede_weak_settings` must be 0; the sweep `judge_stores` looks every minute."""
    metric = GaugeMetricFamily(
        "stampede_weak_settings",
        "Servers of both stores whose setting can lose what buyers were told",
        labels=["setting"],
    )
    for setting, servers in weak_servers().items():
        metric.add_metric([setting], servers)
    yield metric
