"""The price list: each way of writing to disk, on the disk as it is and on a slowed one, in several rounds."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.durability.measured_store import Address
from bench.durability.rounds import Crowd, Round, RoundFailed, run_round

# What a store is told about its disk. The shop asks for the last (seckill/durability.py).
WAYS = {
    "no AOF": {"appendonly": "no", "appendfsync": "no"},
    "everysec": {"appendonly": "yes", "appendfsync": "everysec"},
    "always": {"appendonly": "yes", "appendfsync": "always"},
}
SHOPS_OWN = "always"
# A disk that was slowed by less was not slowed.
SLOWED_SHARE_MIN = 0.9


@dataclass(frozen=True, slots=True)
class Price:
    """A line of the list. `delay_s` is 0 for the disk as it is."""

    way: str
    delay_s: float
    rounds: Sequence[Round]

    @property
    def alone_ms(self) -> float:
        return statistics.median(one.alone_ms for one in self.rounds)

    @property
    def reservations_per_second(self) -> float:
        return statistics.median(one.reservations_per_second for one in self.rounds)

    @property
    def p50_ms(self) -> float:
        return statistics.median(one.p50_ms for one in self.rounds)

    @property
    def p99_ms(self) -> float:
        return statistics.median(one.p99_ms for one in self.rounds)

    @property
    def sync_ms(self) -> float | None:
        known = [one.sync_ms for one in self.rounds if one.sync_ms is not None]
        return statistics.median(known) if known else None

    @property
    def told(self) -> int:
        return sum(one.told for one in self.rounds)

    @property
    def unanswered(self) -> int:
        """Calls that the clients gave up while the store lived."""
        return sum(one.unanswered for one in self.rounds)

    @property
    def lost_to_kill(self) -> Sequence[int]:
        return [one.lost_to_kill for one in self.rounds]

    @property
    def lost_to_power_cut(self) -> Sequence[int]:
        """Empty where nobody knows."""
        return [one.lost_to_power_cut for one in self.rounds if one.lost_to_power_cut is not None]

    @property
    def broke_its_word(self) -> bool:
        """The way that the shop asks for lost an answer."""
        return self.way == SHOPS_OWN and any([*self.lost_to_kill, *self.lost_to_power_cut])


def price_list(
    directory: Path,
    *,
    address: Address,
    library: Path | None,
    delay_s: float,
    seconds: float,
    rounds: int,
    crowd: Crowd,
    tick: Callable[[str], None],
) -> list[Price]:
    """All lines, those on a slowed disk only where there is a library to slow it.

    The lines take turns, so that what else the machine does meanwhile is shared out among them.
    """
    done: dict[tuple[str, float], list[Round]] = {line: [] for line in lines_of(delay_s if library else 0.0)}
    for number in range(rounds):
        for (way, delay), its_rounds in done.items():
            tick(f"{way}, {'slowed disk' if delay else 'disk as it is'}")
            its_rounds.append(
                run_round(
                    directory / f"{'slowed' if delay else 'plain'}-{way.replace(' ', '-')}-{number + 1}",
                    address=address,
                    options=WAYS[way],
                    library=library,
                    delay_s=delay,
                    seconds=seconds,
                    crowd=crowd,
                )
            )
    prices = [Price(way, delay, its_rounds) for (way, delay), its_rounds in done.items()]
    for price in prices:
        if price.delay_s and (price.sync_ms or 0.0) < price.delay_s * 1000 * SLOWED_SHARE_MIN:
            raise RoundFailed(f"The disk was to take {price.delay_s * 1000:.0f} ms a sync and took {price.sync_ms} ms.")
    return prices


def lines_of(delay_s: float) -> list[tuple[str, float]]:
    """Way and delay of each line. A store that never writes does not feel the disk, so it has one line."""
    slowed = [(way, delay_s) for way, options in WAYS.items() if options["appendonly"] == "yes"]
    return [*((way, 0.0) for way in WAYS), *(slowed if delay_s else [])]
