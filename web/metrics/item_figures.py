"""What the reservation store says of each item and waiting room, and of its own servers."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from django.core.cache import cache
from prometheus_client.core import GaugeMetricFamily, Metric

from seckill.items.item_state import Condition
from seckill.line.line_ledger import count_waiting
from seckill.outbox import outbox
from seckill.store.client import StoreUnreachable, all_members, ask_member, online_replicas
from seckill.store.yes_replicas import yes_replicas_now
from seckill.waiting_room.room_ledger import read_room

# Since when each item is not verified, by the first scrape that found it so.
UNVERIFIED_KEY = "web.metrics.unverified"


def outbox_metrics(item_ids: Sequence[int]) -> Iterator[Metric]:
    """How many reservations of each item are not orders yet, since when, and how many can never be."""
    backlog = GaugeMetricFamily(
        "stampede_outbox_backlog", "Reservations that are not orders yet; entries of the item's outbox", labels=["item"]
    )
    lag = GaugeMetricFamily(
        "stampede_outbox_lag_seconds", "Age of the oldest reservation that is not an order yet", labels=["item"]
    )
    dead = GaugeMetricFamily(
        "stampede_dead_letters", "Entries of the item's outbox that can never become orders", labels=["item"]
    )
    for item_id, waiting in outbox.waiting(item_ids=item_ids).items():
        backlog.add_metric([str(item_id)], waiting.entries)
        lag.add_metric([str(item_id)], waiting.oldest_ms / 1000)
        dead.add_metric([str(item_id)], waiting.dead)
    yield from (backlog, lag, dead)


def people_metrics(item_ids: Sequence[int], sale_ids: Sequence[int]) -> Iterator[Metric]:
    """How many people wait: for units of each item that may come back, and in the open room of each sale."""
    line = GaugeMetricFamily("stampede_line_people", "People in the waiting list of the item", labels=["item"])
    for item_id, people in count_waiting(item_ids=item_ids).items():
        line.add_metric([str(item_id)], people)
    rooms = GaugeMetricFamily(
        "stampede_room_people", "People in the waiting room of the sale whose place was not called yet", labels=["sale"]
    )
    for sale_id in sale_ids:
        if room := read_room(sale_id=sale_id):
            rooms.add_metric([str(sale_id)], room.waiting)
    yield from (line, rooms)


def replica_metrics() -> Iterator[Metric]:
    """How many replicas each primary has. Too few, and no buyer of its items hears yes."""
    replicas = GaugeMetricFamily(
        "stampede_store_replicas", "Replicas that are connected to a primary of the store", labels=["node"]
    )
    for member in all_members():
        if member.primary:
            with suppress(StoreUnreachable):
                replication = ask_member(lambda client: client.info("replication"), client=member.client)
                replicas.add_metric([member.name or "primary"], len(list(online_replicas(replication))))
    yield replicas
    yield GaugeMetricFamily(
        "stampede_store_replicas_wanted",
        "Replicas that must have a yes before its buyer hears it",
        value=yes_replicas_now(),
    )


def unverified_since(conditions: Mapping[int, Condition]) -> Iterator[tuple[int, float]]:
    """The items that are not verified, and since when, in seconds since 1970. The cache server remembers it."""
    # The cache keeps the keys of a mapping as texts.
    known = {int(item_id): since_s for item_id, since_s in cache.get(UNVERIFIED_KEY, {}).items()}
    now_s = time.time()
    since = {
        item_id: known.get(item_id, now_s)
        for item_id, condition in conditions.items()
        if condition is not Condition.VERIFIED
    }
    if since != known:
        cache.set(UNVERIFIED_KEY, since, timeout=None)
    yield from since.items()


def unverified_metric(conditions: Mapping[int, Condition], since: Mapping[int, float]) -> Metric:
    """At least 1 for an item that is not verified, also when that has just begun or the cache server is away."""
    metric = GaugeMetricFamily(
        "stampede_item_unverified_seconds",
        "Since when buyers of the item get `unavailable`, until it has been compared with the orders; 0 if verified",
        labels=["item"],
    )
    now_s = time.time()
    for item_id, condition in conditions.items():
        seconds = 0.0 if condition is Condition.VERIFIED else max(now_s - since.get(item_id, now_s), 1.0)
        metric.add_metric([str(item_id)], seconds)
    return metric
