"""One round: a fresh store, buyers as fast as they can, a kill amid the load, and a count of what is missing."""

import contextlib
import random
import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from bench.durability import reserving_process
from bench.durability.disk import Disk, Syncs
from bench.durability.measured_store import Address, PricedStore, reservations_in
from bench.durability.reserving_process import ITEM_ID, Heard, Told
from seckill import ledger

# Connecting and the first calls are not what is priced.
WARM_UP_SECONDS = 0.4
# How long one buyer alone asks, and how often at least, before the crowd comes.
ALONE_SECONDS, ALONE_CALLS_MIN = 0.3, 3
# On a slowed disk the kill comes when so much of a sync has passed: the store has answered the most that it has not
# written yet.
WORST_SHARE = 0.8
ANSWER_SECONDS_MAX = 30.0
SYNC_SECONDS_MAX = 10.0
TERMS = ledger.Terms(
    quantity=None,
    opens_ms=0,
    closes_ms=2**52,
    hold_ms=3_600_000,
    per_buyer_max=1_000_000,
    price_minor=100,
    currency="CNY",
)


class RoundFailed(Exception):
    """The round says nothing about durability. The message says what went wrong."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round showed. None where the disk could not be watched.

    `alone_ms` is a call without company; `unanswered` are calls given up while the clock ran, before the kill.
    """

    alone_ms: float
    reservations_per_second: float
    p50_ms: float
    p99_ms: float
    unanswered: int
    told: int
    lost_to_kill: int
    lost_to_power_cut: int | None
    syncs_per_second: float | None
    sync_ms: float | None
    delayed_fsyncs: int


class Crowd:
    """Processes of buyers that stay for all rounds."""

    def __init__(self, *, processes: int, threads: int) -> None:
        context = get_context("spawn")
        self._team: list[tuple[SpawnProcess, Connection]] = []
        for _ in range(processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=reserving_process.run, args=(theirs, threads), daemon=True)
            process.start()
            theirs.close()
            self._team.append((process, ours))
        for _process, pipe in self._team:
            self._hear(pipe)

    def _hear(self, pipe: Connection) -> Any:
        try:
            if pipe.poll(ANSWER_SECONDS_MAX):
                return pipe.recv()
        except EOFError:
            pass
        raise RoundFailed("A process of buyers did not come back.")

    def go(self) -> None:
        for _process, pipe in self._team:
            pipe.send("go")

    def stop(self) -> Heard:
        """What all of them heard. Raises RoundFailed."""
        for _process, pipe in self._team:
            pipe.send("stop")
        everything = Heard()
        for _process, pipe in self._team:
            for part in self._hear(pipe):
                everything.told += part.told
                everything.unanswered += part.unanswered
                everything.surprises += part.surprises
        if everything.surprises:
            raise RoundFailed(f"A buyer heard {everything.surprises[0]} from a store that sells without limit.")
        return everything

    def send_home(self) -> None:
        for _process, pipe in self._team:
            pipe.close()
        for process, _pipe in self._team:
            process.join(1)
            process.kill()
            process.join()


@contextlib.contextmanager
def crowd_of(*, processes: int, threads: int) -> Iterator[Crowd]:
    """A crowd for the length of a `with`."""
    crowd = Crowd(processes=processes, threads=threads)
    try:
        yield crowd
    finally:
        crowd.send_home()


def run_round(
    directory: Path,
    *,
    address: Address,
    options: Mapping[str, str],
    library: Path | None,
    delay_s: float,
    seconds: float,
    crowd: Crowd,
) -> Round:
    """Measure for `seconds`, kill, restart, count. Raises RoundFailed, PartFailed, StoreUnreachable."""
    directory.mkdir()
    disk = Disk(library=library, path=directory / "disk") if library else None
    with PricedStore(
        directory / "killed", address=address, options=options, environment=disk.environment if disk else {}
    ) as store:
        ledger.publish(item_id=ITEM_ID, terms=TERMS)
        with slowed(disk, delay_s=delay_s):
            alone = calls_of_one_buyer()
        crowd.go()
        time.sleep(WARM_UP_SECONDS)
        if disk and delay_s:
            disk.slow_down(delay_s=delay_s)
            wait_for_sync(disk)  # which may have begun before
        watched_from_s, syncs_before = time.monotonic(), syncs_of(disk)
        if disk and delay_s:
            wait_for_sync(disk)
        started_s = time.monotonic()
        time.sleep(seconds)
        ended_s = time.monotonic()
        delayed_fsyncs = int(store.client().info("persistence").get("aof_delayed_fsync", 0))
        wait_for_the_moment(disk=disk, delay_s=delay_s)
        syncs, watched_s = syncs_of(disk).since(syncs_before), time.monotonic() - watched_from_s
        store.kill()
    heard = crowd.stop()
    told = {yes.reservation_id for yes in [*alone, *heard.told]}
    if disk:
        store.copy_after_power_cut(directory / "cut", disk=disk)
    measured = [yes for yes in heard.told if started_s <= yes.at_s < ended_s]
    p50_ms, p99_ms = percentiles_ms(measured)
    return Round(
        alone_ms=statistics.median(yes.took_s * 1000 for yes in alone),
        reservations_per_second=len(measured) / (ended_s - started_s),
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        unanswered=sum(started_s <= at_s < ended_s for at_s in heard.unanswered),
        told=len(told),
        lost_to_kill=len(told - found_in(directory / "killed", address=address, options=options)),
        lost_to_power_cut=len(told - found_in(directory / "cut", address=address, options=options)) if disk else None,
        syncs_per_second=syncs.done / watched_s if disk else None,
        sync_ms=syncs.spent_s / syncs.done * 1000 if disk and syncs.done else None,
        delayed_fsyncs=delayed_fsyncs,
    )


@contextlib.contextmanager
def slowed(disk: Disk | None, *, delay_s: float) -> Iterator[None]:
    """The disk is slow for the length of a `with`."""
    if disk:
        disk.slow_down(delay_s=delay_s)
    yield
    if disk:
        disk.slow_down(delay_s=0.0)


def calls_of_one_buyer() -> list[Told]:
    """What it costs when nobody else's reservation shares the sync."""
    heard, stop = Heard(), threading.Event()
    started_s = time.monotonic()
    while time.monotonic() - started_s < ALONE_SECONDS or len(heard.told) < ALONE_CALLS_MIN:
        reserving_process.reserve_once(heard, stop)
        if heard.unanswered or heard.surprises:
            raise RoundFailed(f"A buyer alone got no reservation. {heard.surprises}")
    return heard.told


def syncs_of(disk: Disk | None) -> Syncs:
    return disk.syncs if disk else Syncs(0, 0.0)


def wait_for_sync(disk: Disk) -> None:
    """Wait until the store has synced; under everysec that takes a second. Raises RoundFailed."""
    before, deadline_s = disk.syncs.done, time.monotonic() + SYNC_SECONDS_MAX
    while disk.syncs.done == before:
        if time.monotonic() > deadline_s:
            raise RoundFailed(f"The store did not sync within {SYNC_SECONDS_MAX:.0f} s.")
        time.sleep(0.002)


def wait_for_the_moment(*, disk: Disk | None, delay_s: float) -> None:
    """The moment of the kill: any within a second; on a slowed disk the worst, late in a sync that is under way."""
    deadline_s = time.monotonic() + (SYNC_SECONDS_MAX if disk and delay_s else random.uniform(0, 1))
    while time.monotonic() < deadline_s:
        if disk and delay_s and disk.sync_under_way_s() >= WORST_SHARE * delay_s:
            return
        time.sleep(0.001)


def found_in(directory: Path, *, address: Address, options: Mapping[str, str]) -> set[str]:
    """The reservations that a server finds which is started in this directory."""
    with PricedStore(directory, address=address, options=options) as store:
        return reservations_in(store, item_id=ITEM_ID)


def percentiles_ms(told: Sequence[Told]) -> tuple[float, float]:
    """The median and the 99th percentile of the time to an answer. Raises RoundFailed."""
    if len(told) < 2:
        raise RoundFailed("Not even two reservations were answered while the clock ran.")
    cuts = statistics.quantiles((yes.took_s * 1000 for yes in told), n=100, method="inclusive")
    return cuts[49], cuts[98]
