"""Counts of events in all processes: each process adds up, and a thread of it adds the sums to the cache server's.

There may be thousands of events a second, and the cache server may be away. The counts begin again when it is emptied.
"""

import time
from collections.abc import Callable, Iterable, Mapping

from django.core.cache import cache
from django_redis import get_redis_connection

from shop.background.lazy_thread import LazyThread
from shop.background.outages import go_on, wait
from shop.background.process_counts import ProcessCounts

INTERVAL_SECONDS = 1.0


class SharedCounts:
    """Counts by word. Their keys in the cache server begin with `prefix`."""

    def __init__(
        self, *, prefix: str, thread_name: str, on_write: Callable[[Mapping[str, int]], bool] | None = None
    ) -> None:
        """`on_write` is told what this process has counted since the last time, at most once a second.

        If it returns True it is called again a second later, even if nothing was counted.
        """
        self._prefix = prefix
        self._on_write = on_write
        self._counts: ProcessCounts[str] = ProcessCounts()
        self._writer = LazyThread(self._write_and_pause, name=thread_name)

    def add(self, word: str, count: int = 1) -> None:
        """Count an event, or several. Returns at once and never raises."""
        self._counts.add(word, count)
        self._writer.wake()

    def add_both(self, event: str, amount: str, count: int) -> None:
        """Count one `event`, and `count` of the word `amount`, for half of the price of two calls."""
        self._counts.add_both(event, amount, count)
        self._writer.wake()

    def write(self) -> None:
        """Add what was counted since the last time to the counts of all processes."""
        counts = self._counts.take_new()
        if self._on_write is not None and self._on_write(counts):
            self._writer.wake()
        if not counts:
            return
        try:
            # In one message: a busy process counts by some hundred words.
            pipeline = get_redis_connection("default").pipeline(transaction=False)
            for word, count in counts.items():
                pipeline.incrby(cache.make_key(self._key(word)), count)
            pipeline.execute()
        except Exception as error:
            # The cache server is away.
            wait(self._prefix, error)
        else:
            go_on(self._prefix)

    def in_all_processes(self, words: Iterable[str]) -> dict[str, int]:
        """How often each word was counted, since the cache server was last emptied."""
        keys = {word: self._key(word) for word in words}
        found = cache.get_many(keys.values())
        return {word: int(found.get(key, 0)) for word, key in keys.items()}

    def _write_and_pause(self) -> None:
        self.write()
        time.sleep(INTERVAL_SECONDS)

    def _key(self, word: str) -> str:
        return f"{self._prefix}.{word}"
