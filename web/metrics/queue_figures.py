"""What the broker says of its queues, and what workers note of the sweeps that they take from them."""

import time
from collections.abc import Iterator

from kombu import Connection
from prometheus_client.core import GaugeMetricFamily, Metric

from shop.background.queued_tasks import QUEUES, known_sweeps
from shop.background.sweep_notes import last_notes
from shop.celery import app, queue_length


def queue_metrics() -> Iterator[Metric]:
    """How many messages wait in each queue. Beat sends nothing to a queue of 500 and more."""
    length = GaugeMetricFamily("stampede_queue_length", "Messages that wait in the queue", labels=["queue"])
    queues = {sweep.queue for sweep in known_sweeps().values()} | set(QUEUES.values())
    broker: Connection
    with app.connection_for_write(connect_timeout=1) as broker:
        broker.ensure_connection(max_retries=1, timeout=1)
        for queue in sorted(queues):
            length.add_metric([queue], queue_length(app, queue, connection=broker))
    yield length


def sweep_metrics() -> Iterator[Metric]:
    """When each sweep last did its work. A sweep that finds a server away has not done it."""
    age = GaugeMetricFamily(
        "stampede_sweep_age_seconds", "Seconds since the sweep last did its work", labels=["sweep", "queue"]
    )
    interval = GaugeMetricFamily(
        "stampede_sweep_interval_seconds", "How often beat sends the sweep", labels=["sweep", "queue"]
    )
    wait = GaugeMetricFamily(
        "stampede_queue_wait_seconds",
        "How long the message of the last sweep waited; while no worker takes any, the sweeps' ages grow instead",
        labels=["queue"],
    )
    sweeps = known_sweeps()
    notes = last_notes(sweeps)
    now_s = time.time()
    for name, sweep in sweeps.items():
        age.add_metric([name, sweep.queue], max(now_s - notes[name].at_s, 0))
        interval.add_metric([name, sweep.queue], sweep.every_seconds)
    latest = {
        sweeps[name].queue: note.waited_seconds
        for name, note in sorted(notes.items(), key=lambda each: each[1].at_s)
        if note.waited_seconds is not None
    }
    for queue, waited_seconds in latest.items():
        wait.add_metric([queue], waited_seconds)
    yield from (age, interval, wait)
