"""Canaries: a message goes through each queue, which shows that a worker takes its messages."""

import time
from uuid import UUID, uuid4

from django.core.cache import cache

from shop.background.outages import AWAY
from shop.background.queued_tasks import EXPIRES_SECONDS, QUEUES, queued_task
from shop.celery import app

# A worker that is busy with a drain takes the next message within a second (DRAIN_SECONDS).
SECONDS_MAX = 10.0
PAUSE_SECONDS = 0.1
# How long the answer to a canary is kept: longer than a person's look at all the rest takes.
CANARY_SECONDS = 600


@queued_task(queue="drain")
def answer_canary(key: str) -> None:
    """The task that is sent through each queue, whatever its own is."""
    cache.set(key, True, CANARY_SECONDS)


def silent_queues() -> list[str]:
    """The queues from which no worker took a message in this time. All of them if the broker or the cache is away."""
    run = uuid4()
    give_up_s = time.monotonic() + (SECONDS_MAX if send(run) else 0.0)
    while (silent := waiting_queues(run)) and time.monotonic() < give_up_s:
        time.sleep(PAUSE_SECONDS)
    return silent


def send(run: UUID) -> bool:
    """Send a message to each queue. False if the broker or the cache is away."""
    try:
        for queue, key in keys_of(run).items():
            answer_canary.apply_async((key,), queue=queue, expires=EXPIRES_SECONDS)
        cache.set(sent_key(run), time.time(), CANARY_SECONDS)
    except AWAY:
        return False
    return True


def waiting_queues(run: UUID) -> list[str]:
    """The queues from which no worker has taken its message yet."""
    keys = keys_of(run)
    try:
        answered = cache.get_many(keys.values())
    except AWAY:
        return list(keys)
    return [queue for queue, key in keys.items() if key not in answered]


def may_still_come(run: UUID) -> bool:
    """Whether the messages were sent, and not so long ago that a worker must have had them."""
    try:
        sent_at = cache.get(sent_key(run))
    except AWAY:
        return False
    return sent_at is not None and time.time() < sent_at + SECONDS_MAX


def keys_of(run: UUID) -> dict[str, str]:
    return {queue: f"canary:{run}:{queue}" for queue in all_queues()}


def all_queues() -> list[str]:
    # A process that has sent no task yet does not know those of all apps.
    app.loader.import_default_modules()
    return sorted(set(QUEUES.values()))


def sent_key(run: UUID) -> str:
    return f"canary:{run}"
