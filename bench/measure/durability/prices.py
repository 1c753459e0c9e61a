"""Measures each way of writing to disk in several rounds, on the disk as it is and on a slowed one."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure.durability.measured_store import Address
from bench.measure.durability.reserving_pool import ReservingPool
from bench.measure.durability.rounds import Round, run_round

# The store's settings for each way. The shop requires the last (seckill/store/durability.py).
WAYS = {
    "no AOF": {"appendonly": "no", "appendfsync": "no"},
    "everysec": {"appendonly": "yes", "appendfsync": "everysec"},
    "always": {"appendonly": "yes", "appendfsync": "always"},
}
SHOPS_OWN = "always"


@dataclass(frozen=True, slots=True)
class Price:
    """One way of writing on one disk. `delay_s` is 0 for the disk as it is."""

    way: str
    delay_s: float
    rounds: Sequence[Round]

    @property
    def sync_ms(self) -> float | None:
        known = [one.sync_ms for one in self.rounds if one.sync_ms is not None]
        return statistics.median(known) if known else None

    @property
    def lost_to_kill(self) -> Sequence[int]:
        return [one.lost_to_kill for one in self.rounds]

    @property
    def lost_to_power_cut(self) -> Sequence[int]:
        """Empty if power cuts could not be simulated."""
        return [one.lost_to_power_cut for one in self.rounds if one.lost_to_power_cut is not None]

    @property
    def lost_confirmed(self) -> bool:
        """Whether the way that the shop requires lost a confirmed reservation."""
        return self.way == SHOPS_OWN and any([*self.lost_to_kill, *self.lost_to_power_cut])


def price_list(
    directory: Path,
    *,
    address: Address,
    library: Path | None,
    delay_s: float,
    seconds: float,
    rounds: int,
    pool: ReservingPool,
    tick: Callable[[str], None],
) -> list[Price]:
    """All measurements; those on a slowed disk only if there is a library to slow it.

    The ways take turns, so that other work of the machine affects them all alike. Raises as `run_round` does.
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
                    pool=pool,
                )
            )
    return [Price(way, delay, its_rounds) for (way, delay), its_rounds in done.items()]


def lines_of(delay_s: float) -> list[tuple[str, float]]:
    """Way and delay of each measurement. A store that never writes is not measured on the slowed disk."""
    slowed = [(way, delay_s) for way, options in WAYS.items() if options["appendonly"] == "yes"]
    return [*((way, 0.0) for way in WAYS), *(slowed if delay_s else [])]
