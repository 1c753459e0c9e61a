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

    def observe(self, name: str, seconds: float) -> None:
        """Note a duration. Returns at once and never raises."""
        self.counts.add(f"{name}.{bisect_left(self.bounds, seconds)}")
        self.counts.add(f"{name}.us", round(seconds * 1_000_000))

    def in_all_processes(self, names: Iterable[str]) -> dict[str, Durations]:
        """The durations of each name, since the cache server was last emptied."""
        places = range(len(self.bounds) + 1)
        words = {name: [f"{name}.{place}" for place in places] for name in names}
        found = self.counts.in_all_processes(
            [word for name, buckets in words.items() for word in (*buckets, f"{name}.us")]
        )
        return {
            name: Durations([found[word] for word in buckets], found[f"{name}.us"] / 1_000_000)
            for name, buckets in words.items()
        }
