"""How many replicas a yes waits for: SECKILL_YES_REPLICAS, or fewer while staff have chosen so.

The choice is a row of PostgreSQL (seckill/changes/replica_choice.py), and the cache server has a copy for all
processes. A thread of each process reads the copy once a second, so that no reservation waits for it. A process that
cannot read it goes on with what it knows; one that has just started, or was idle, waits for all replicas until it has
looked: the choice may have been taken back.
"""

import time
from dataclasses import dataclass

from django.core.cache import cache

from shop.background.lazy_thread import LazyThread
from shop.background.outages import AWAY, go_on, wait
from shop.configuration.quick_setting import setting

KEY = "seckill.yes_replicas"
READ_SECONDS = 1.0
# What is known counts for so long after the last look. A process that answers reservations looks every second.
COUNTS_SECONDS = 10.0


@dataclass(slots=True)
class Known:
    """`chosen` is None where the setting counts. Times are by the monotonic clock."""

    chosen: int | None = None
    looked_s: float = float("-inf")
    look_again_s: float = float("-inf")


known = Known()


def yes_replicas() -> int:
    """Returns at once, with what was read within the last seconds."""
    most: int = setting("SECKILL_YES_REPLICAS")
    if not most:
        return 0
    now_s = time.monotonic()
    if now_s >= known.look_again_s:
        known.look_again_s = now_s + READ_SECONDS
        _reader.wake()
    chosen = known.chosen
    return most if chosen is None or now_s > known.looked_s + COUNTS_SECONDS else min(chosen, most)


def yes_replicas_now() -> int:
    """For judging servers, and for people: the copy is read before the answer."""
    if setting("SECKILL_YES_REPLICAS"):
        read()
    return yes_replicas()


def publish(chosen: int | None) -> None:
    """Give all processes the choice. Raises ConnectionInterrupted if the cache server is away."""
    cache.set(KEY, {"chosen": chosen}, timeout=None)
    known.chosen, known.looked_s = chosen, time.monotonic()


def read() -> None:
    try:
        found = cache.get(KEY)
    except AWAY as error:
        wait(KEY, error)
        return
    finally:
        known.looked_s = time.monotonic()
    go_on(KEY)
    # A cache server that was emptied says nothing about the choice: a sweep writes it again.
    if found is not None:
        known.chosen = found["chosen"]


_reader = LazyThread(read, name="yes-replicas")
