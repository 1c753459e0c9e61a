"""What all processes together have counted and noted: the cache server has it."""

from collections.abc import Iterator

from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from orders.repair.audit import last_result
from seckill.store.failures import failure_counts
from web.reservations.answer_counts import answer_counts


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


def counter_metrics() -> Iterator[Metric]:
    yield store_failure_metric()
    yield gate_metric()


def store_failure_metric() -> Metric:
    """`stampede_store_failures_total` by cause; a cause that never happened is 0."""
    counter = CounterMetricFamily(
        "stampede_store_failures", "Calls to the reservation store that failed, by cause", labels=["cause"]
    )
    for cause, count in failure_counts().items():
        counter.add_metric([cause.value], count)
    return counter


def gate_metric() -> Metric:
    """`stampede_gate_answers_total` by word; Django has not seen these calls."""
    counter = CounterMetricFamily("stampede_gate_answers", "Calls that the gate has answered", labels=["answer"])
    for word, count in answer_counts().items():
        counter.add_metric([word], count)
    return counter
