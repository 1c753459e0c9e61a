"""Canaries: a message goes through each queue, which shows that a worker takes its messages."""

import time
from uuid import uuid4

from django.core.cache import cache

from orders.tasks import answer_canary
from shop.background.outages import AWAY
from shop.background.queued_tasks import EXPIRES_SECONDS, QUEUES

# A worker that is busy with a drain takes the next message within a second (DRAIN_SECONDS).
SECONDS_MAX = 10.0
PAUSE_SECONDS = 0.1


def silent_queues(*, seconds_max: float = SECONDS_MAX) -> list[str]:
    """The queues from which no worker took a message in this time. All of them if the broker or the cache is away."""
    queues = sorted(set(QUEUES.values()))
    try:
        waiting = {queue: f"canary:{uuid4()}" for queue in queues}
        for queue, key in waiting.items():
            answer_canary.apply_async((key,), queue=queue, expires=EXPIRES_SECONDS)
        give_up_s = time.monotonic() + seconds_max
        while waiting and time.monotonic() < give_up_s:
            time.sleep(PAUSE_SECONDS)
            answered = cache.get_many(waiting.values())
            waiting = {queue: key for queue, key in waiting.items() if key not in answered}
    except AWAY:
        return queues
    return sorted(waiting)
