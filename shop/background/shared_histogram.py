"""How long things took, in all processes: for each name the number of calls by duration, and the sum.

Each process counts, and its sums go to the cache server once a second (shop/background/shared_counts.py).
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shop.background.shared_counts import SharedCounts


@dataclass(frozen=True, slots=True)
class Durations:
    """`counts` has one number for each bound, of the calls that took no longer than it and longer than the one before,
    and a last one for those that took longer still.
    """

    counts: list[int]
    seconds: float


class SharedHistogram:
    """Durations by name. `bounds` are in seconds, in ascending order."""

    def __init__(self, *, prefix: str, thread_name: str, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = SharedCounts(prefix=prefix, thread_name=thread_name)
        # By name: the word of each bucket, then that of the sum. Writing them each time would double the cost.
        self._words: dict[str, list[str]] = {}

    def observe(self, name: str, seconds: float) -> None:
        """Note a duration. Returns at once and never raises. There must be few different names: each is kept."""
        words = self._words.get(name) or self._words_of(name)
        self.counts.add_both(words[bisect_left(self.bounds, seconds)], words[-1], int(seconds * 1_000_000))

    def in_all_processes(self, names: Iterable[str]) -> dict[str, Durations]:
        """The durations of each name, since the cache server was last emptied."""
        words = {name: self._words_of(name) for name in names}
        found = self.counts.in_all_processes([word for of_name in words.values() for word in of_name])
        return {
            name: Durations([found[word] for word in buckets], found[total] / 1_000_000)
            for name, (*buckets, total) in words.items()
        }

    def _words_of(self, name: str) -> list[str]:
        words = [*(f"{name}.{place}" for place in range(len(self.bounds) + 1)), f"{name}.us"]
        return self._words.setdefault(name, words)
