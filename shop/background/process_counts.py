"""Counts of one process, by key. Adding takes no lock: each thread adds up in a dict of its own, never reset."""

import threading
from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class ProcessCounts(Generic[Key]):
    """There must be few different keys: each of them is kept."""

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self._lock = threading.Lock()
        self._of_threads: list[tuple[threading.Thread, dict[Key, int]]] = []
        # Of threads that have ended, and of all threads at the last `take_new`.
        self._ended: Counter[Key] = Counter()
        self._taken: Counter[Key] = Counter()

    def add(self, key: Key, count: int = 1) -> None:
        try:
            counts = self._of_thread.counts
        except AttributeError:
            counts = self._begin()
        counts[key] = counts.get(key, 0) + count

    def add_both(self, event: Key, amount: Key, count: int) -> None:
        """Count one `event`, and `count` of the key `amount`."""
        try:
            counts = self._of_thread.counts
        except AttributeError:
            counts = self._begin()
        counts[event] = counts.get(event, 0) + 1
        counts[amount] = counts.get(amount, 0) + count

    def take_new(self) -> Counter[Key]:
        """What all threads have counted since the last call, each count once."""
        with self._lock:
            # Asked before its dict is read: a thread that has ended counts no more.
            ended = [entry for entry in self._of_threads if not entry[0].is_alive()]
            for entry in ended:
                self._ended.update(entry[1])
                self._of_threads.remove(entry)
            total = self._ended.copy()
            for _thread, counts in self._of_threads:
                # A copy is made in one step, whatever the thread adds meanwhile.
                total.update(counts.copy())
            new = total - self._taken
            self._taken = total
            return new

    def _begin(self) -> dict[Key, int]:
        counts: dict[Key, int] = {}
        self._of_thread.counts = counts
        with self._lock:
            self._of_threads.append((threading.current_thread(), counts))
        return counts
