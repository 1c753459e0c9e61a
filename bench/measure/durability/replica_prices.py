"""The cost of a yes that waits for a replica (SECKILL_YES_REPLICAS), and the losses when the primary is lost."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from django.conf import settings

from bench.faults.wire.proxy import Mode, Proxy
from bench.measure.durability.measured_store import Address, MeasuredStore, reservations_in
from bench.measure.durability.reserving_pool import ITEM_ID, ReservingPool
from bench.measure.durability.rounds import (
    TERMS,
    WARM_UP_SECONDS,
    CallFigures,
    RoundFailed,
    calls_of_one_buyer,
    figures_of,
    wait_for_kill_time,
)
from seckill import ledger
from shop.local.ports import free_ports
from shop.local.process import POLL_SECONDS

# Within a data centre, or between zones of one region.
LINK_DELAY_S = 0.001
# Replicas that a yes waits for, and how long the link takes each way.
LINES = ((0, 0.0), (1, 0.0), (0, LINK_DELAY_S), (1, LINK_DELAY_S))
# As durable as the shop requires (seckill/store/durability.py), on both.
OPTIONS = {"appendonly": "yes", "appendfsync": "always", "repl-diskless-sync-delay": "0", "repl-timeout": "10"}
TOGETHER_SECONDS_MAX = 20.0
LINK = "link"


class MeasuredPair:
    """Clients speak to the primary at `address`; the replica is at the other end of a link."""

    def __init__(self, directory: Path, *, address: Address, yes_replicas: int, link_delay_s: float) -> None:
        """`yes_replicas` is also how many replicas the primary must see to accept writes. No delay means no link."""
        replica_port, self._link_port = free_ports(count=2)
        directory.mkdir()
        self._address = address
        options = {**OPTIONS, "min-replicas-to-write": str(yes_replicas)}
        self._primary = MeasuredStore(directory / "primary", address=address, options=options)
        self._replica = MeasuredStore(
            directory / "replica", address=Address(port=replica_port, password=address.password), options=OPTIONS
        )
        self._link_delay_s = link_delay_s
        self._link: Proxy | None = None
        self._running = ExitStack()

    def __enter__(self) -> Self:
        """Start both, and return when the replica has what the primary has. Raises ProcessFailed and RoundFailed."""
        with ExitStack() as starting:
            starting.enter_context(self._primary)
            starting.enter_context(self._replica)
            port = self._address.port
            if self._link_delay_s:
                self._link = Proxy(exact_delays=True)
                starting.callback(self._link.stop)
                self._link.add(LINK, port=self._link_port, target_port=port, delay_seconds=self._link_delay_s)
                port = self._link_port
            client = self._replica.client()
            client.config_set("masterauth", self._address.password)
            client.replicaof("127.0.0.1", str(port))
            await_true(lambda: is_in_sync(client), what="The replica did not follow its primary")
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def kill_primary(self) -> None:
        """kill -9. Over a link, the primary is cut off at the same moment, as when its host is lost.

        Without one, the kernel still delivers what the killed process had sent.
        """
        if self._link:
            self._link.switch(Mode.REFUSE, LINK)
        self._primary.kill()

    def promoted_reservations(self, *, item_id: int) -> set[str]:
        """The ids in the replica once it is the primary. It takes all that has reached it first. Raises RoundFailed."""
        client = self._replica.client()
        await_true(lambda: not is_linked(client), what="The replica did not notice that its primary is gone")
        client.replicaof("NO", "ONE")
        return reservations_in(self._replica, item_id=item_id)


def is_linked(client: Any) -> bool:
    return bool(client.info("replication").get("master_link_status") == "up")


def is_in_sync(client: Any) -> bool:
    """Whether the replica has all data, on its disk too: only then does it confirm what it gets."""
    persistence = client.info("persistence")
    rewriting = persistence["aof_rewrite_in_progress"] or persistence["aof_rewrite_scheduled"]
    return is_linked(client) and not rewriting


def await_true(condition: Callable[[], bool], *, what: str) -> None:
    """Raises RoundFailed."""
    deadline_s = time.monotonic() + TOGETHER_SECONDS_MAX
    while not condition():
        if time.monotonic() > deadline_s:
            raise RoundFailed(f"{what} within {TOGETHER_SECONDS_MAX:.0f} s.")
        time.sleep(POLL_SECONDS)


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
        **asdict(figures_of(alone, answers, started_s=started_s, ended_s=ended_s)), lost=len(confirmed - kept)
    )
