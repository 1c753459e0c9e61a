"""The cost of a yes that waits for a replica (SECKILL_YES_REPLICAS), and the losses when the primary is lost."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

from bench.measure.durability.measured_pair import MeasuredPair
from bench.measure.durability.measured_store import Address
from bench.measure.durability.reserving_pool import ReservingPool
from bench.measure.durability.reserving_process import ITEM_ID
from bench.measure.durability.rounds import (
    TERMS,
    WARM_UP_SECONDS,
    CallFigures,
    calls_of_one_buyer,
    figures_of,
    wait_for_kill_time,
)
from seckill import ledger

# Within a data centre, or between zones of one region.
LINK_DELAY_S = 0.001
# Replicas that a yes waits for, and how long the link takes each way.
LINES = ((0, 0.0), (1, 0.0), (0, LINK_DELAY_S), (1, LINK_DELAY_S))


@dataclass(frozen=True, slots=True)
class ReplicaRound(CallFigures):
    """The figures of one round. `lost` are yeses that the promoted replica does not have."""

    lost: int


@dataclass(frozen=True, slots=True)
class ReplicaPrice:
    """One number of replicas to wait for, over one link."""

    yes_replicas: int
    link_delay_s: float
    rounds: Sequence[ReplicaRound]

    @property
    def lost(self) -> Sequence[int]:
        return [one.lost for one in self.rounds]

    @property
    def lost_promised(self) -> bool:
        """Whether a yes was lost that had waited for the replica."""
        return bool(self.yes_replicas) and any(self.lost)


def replica_price_list(
    directory: Path, *, address: Address, seconds: float, rounds: int, pool: ReservingPool, tick: Callable[[str], None]
) -> list[ReplicaPrice]:
    """All measurements. The lines take turns, as the ways of writing do."""
    done: dict[tuple[int, float], list[ReplicaRound]] = {line: [] for line in LINES}
    for number in range(rounds):
        for (yes_replicas, link_delay_s), its_rounds in done.items():
            tick(f"{yes_replicas} replicas, {'over a link' if link_delay_s else 'direct'}")
            its_rounds.append(
                replica_round(
                    directory / f"pair-{yes_replicas}-{link_delay_s:g}-{number + 1}",
                    address=address,
                    yes_replicas=yes_replicas,
                    link_delay_s=link_delay_s,
                    seconds=seconds,
                    pool=pool,
                )
            )
    return [ReplicaPrice(*line, its_rounds) for line, its_rounds in done.items()]


def replica_round(
    directory: Path, *, address: Address, yes_replicas: int, link_delay_s: float, seconds: float, pool: ReservingPool
) -> ReplicaRound:
    """Measure for `seconds`, kill the primary, promote the replica, count. Raises as `run_round` does."""
    # For the calls of this process; the buyers' processes are told by `go`.
    settings.SECKILL_YES_REPLICAS = yes_replicas
    try:
        with MeasuredPair(directory, address=address, yes_replicas=yes_replicas, link_delay_s=link_delay_s) as pair:
            ledger.publish(item_id=ITEM_ID, terms=TERMS)
            alone = calls_of_one_buyer()
            pool.go(yes_replicas=yes_replicas)
            time.sleep(WARM_UP_SECONDS)
            started_s = time.monotonic()
            time.sleep(seconds)
            ended_s = time.monotonic()
            wait_for_kill_time(disk=None, delay_s=0.0)
            pair.kill_primary()
            answers = pool.stop()
            kept = pair.promoted_reservations(item_id=ITEM_ID)
    finally:
        settings.SECKILL_YES_REPLICAS = 0
    confirmed = {confirmation.reservation_id for confirmation in [*alone, *answers.confirmed]}
    return ReplicaRound(
        **asdict(figures_of(alone, answers, started_s=started_s, ended_s=ended_s)),
        lost=len(confirmed - kept),
    )
