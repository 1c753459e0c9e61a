"""How many replicas a yes waits for: SECKILL_YES_REPLICAS, or fewer while staff have chosen so.

The choice is a row of PostgreSQL (seckill/changes/replica_choice.py), and the cache server has a copy for all
processes. A thread of each process reads the copy once a second, so that no reservation waits for it. A process that
cannot read it goes on with what it knows; one that has just started waits for all replicas until it knows more.
"""

import time
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache

from shop.background.lazy_thread import LazyThread
from shop.background.outages import AWAY, go_on, wait

KEY = "seckill.yes_replicas"
READ_SECONDS = 1.0


@dataclass(slots=True)
class Known:
    """`chosen` is None where the setting counts. `read_again_s` is by the monotonic clock."""

    chosen: int | None = None
    read_again_s: float = 0.0


known = Known()


def yes_replicas() -> int:
    """Returns at once, with what was read within the last seconds."""
    most: int = settings.SECKILL_YES_REPLICAS
    if not most:
        return 0
    now_s = time.monotonic()
    if now_s >= known.read_again_s:
        known.read_again_s = now_s + READ_SECONDS
        _reader.wake()
    return most if known.chosen is None else min(known.chosen, most)


def yes_replicas_now() -> int:
    """For judging servers, and for people: the copy is read before the answer."""
    if settings.SECKILL_YES_REPLICAS:
        read()
    return yes_replicas()


def publish(chosen: int | None) -> None:
    """Give all processes the choice. Raises ConnectionInterrupted if the cache server is away."""
    cache.set(KEY, {"chosen": chosen}, timeout=None)
    known.chosen = chosen


def read() -> None:
    try:
        found = cache.get(KEY)
    except AWAY as error:
        wait(KEY, error)
        return
    go_on(KEY)
    # A cache server that was emptied says nothing about the choice: a sweep writes it again.
    if found is not None:
        known.chosen = found["chosen"]


_reader = LazyThread(read, name="yes-replicas")
