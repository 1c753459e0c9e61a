"""What the reservation store says of each item."""

from collections.abc import Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from seckill.outbox import outbox


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
