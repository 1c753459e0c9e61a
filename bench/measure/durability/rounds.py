"""One round: buyers reserve as fast as they can in a new store, it is killed, and lost reservations are counted."""

import contextlib
import random
import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.measure.durability.disk import Disk, Syncs
from bench.measure.durability.measured_store import Address, MeasuredStore, reservations_in
from bench.measure.durability.reserving_pool import ITEM_ID, Answers, Confirmation, ReservingPool, reserve_once
from bench.percentiles import percentile
from seckill import ledger

# Connecting and the first calls are not measured.
WARM_UP_SECONDS = 0.4
# How long a single buyer reserves before the others start, and how often at least.
ALONE_SECONDS, ALONE_CALLS_MIN = 0.3, 3
# On a slowed disk the store is killed after this share of a sync, when it has confirmed most that is not written yet.
WORST_SHARE = 0.8
# If the syncs took less than this share of the delay, the disk was not slowed and the figures are wrong.
SLOWED_SHARE_MIN = 0.9
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
    """The round has no result. The message says what went wrong."""


@dataclass(frozen=True, slots=True)
class CallFigures:
    """How the calls of one round went.

    `alone_ms` is the time of a call when no other buyer calls; `unanswered` counts calls that got no answer during the
    measurement, before the kill.
    """

    alone_ms: float
    reservations_per_second: float
    p50_ms: float
    p99_ms: float
    unanswered: int
    confirmed: int


@dataclass(frozen=True, slots=True)
class Round(CallFigures):
    """The figures of one round. They are None if the disk could not be watched."""

    lost_to_kill: int
    lost_to_power_cut: int | None
    sync_ms: float | None


def run_round(
    directory: Path,
    *,
    address: Address,
    options: Mapping[str, str],
    library: Path | None,
    delay_s: float,
    seconds: float,
    pool: ReservingPool,
) -> Round:
    """Measure for `seconds`, kill, restart, count. Raises RoundFailed, ProcessFailed, StoreUnreachable."""
    directory.mkdir()
    disk = Disk(library=library, path=directory / "disk") if library else None
    with MeasuredStore(
        directory / "killed", address=address, options=options, environment=disk.environment if disk else {}
    ) as store:
        ledger.publish(item_id=ITEM_ID, terms=TERMS)
        with slowed(disk, delay_s=delay_s):
            alone = calls_of_one_buyer()
        pool.go()
        time.sleep(WARM_UP_SECONDS)
        if disk and delay_s:
            disk.slow_down(delay_s=delay_s)
            wait_for_sync(disk)  # the first one may have begun before the slowdown
        syncs_before = syncs_of(disk)
        if disk and delay_s:
            wait_for_sync(disk)
        started_s = time.monotonic()
        time.sleep(seconds)
        ended_s = time.monotonic()
        wait_for_kill_time(disk=disk, delay_s=delay_s)
        syncs = syncs_of(disk).since(syncs_before)
        store.kill()
    answers = pool.stop()
    sync_ms = syncs.spent_s / syncs.done * 1000 if disk and syncs.done else None
    check_slowed(sync_ms, delay_s=delay_s)
    confirmed = {confirmation.reservation_id for confirmation in [*alone, *answers.confirmed]}
    lost_to_power_cut = None
    if disk:
        store.copy_after_power_cut(directory / "cut", disk=disk)
        lost_to_power_cut = len(confirmed - found_in(directory / "cut", address=address, options=options))
    return Round(
        **asdict(figures_of(alone, answers, started_s=started_s, ended_s=ended_s)),
        lost_to_kill=len(confirmed - found_in(directory / "killed", address=address, options=options)),
        lost_to_power_cut=lost_to_power_cut,
        sync_ms=sync_ms,
    )


@contextlib.contextmanager
def slowed(disk: Disk | None, *, delay_s: float) -> Iterator[None]:
    """Slow the disk for the length of a `with`."""
    if disk:
        disk.slow_down(delay_s=delay_s)
    yield
    if disk:
        disk.slow_down(delay_s=0.0)


def calls_of_one_buyer() -> list[Confirmation]:
    """The calls of a single buyer, whose syncs are shared with no other reservation. Raises RoundFailed."""
    answers, stop = Answers(), threading.Event()
    started_s = time.monotonic()
    while time.monotonic() - started_s < ALONE_SECONDS or len(answers.confirmed) < ALONE_CALLS_MIN:
        reserve_once(answers, stop)
        if answers.unanswered or answers.unexpected:
            raise RoundFailed(f"A single buyer got no reservation. {answers.unexpected}")
    return answers.confirmed


def syncs_of(disk: Disk | None) -> Syncs:
    return disk.syncs if disk else Syncs(0, 0.0)


def wait_for_sync(disk: Disk) -> None:
    """Wait until the store has synced, which takes a second with everysec. Raises RoundFailed."""
    before, deadline_s = disk.syncs.done, time.monotonic() + SYNC_SECONDS_MAX
    while disk.syncs.done == before:
        if time.monotonic() > deadline_s:
            raise RoundFailed(f"The store did not sync within {SYNC_SECONDS_MAX:.0f} s.")
        time.sleep(0.002)


def check_slowed(sync_ms: float | None, *, delay_s: float) -> None:
    """Whether the syncs took as long as they should. Raises RoundFailed."""
    if delay_s and (sync_ms or 0.0) < delay_s * 1000 * SLOWED_SHARE_MIN:
        raise RoundFailed(f"A sync should take {delay_s * 1000:.0f} ms and took {sync_ms} ms.")


def wait_for_kill_time(*, disk: Disk | None, delay_s: float) -> None:
    """Wait for a random time of up to a second; on a slowed disk, until late in a sync, which is the worst time.

    Raises RoundFailed if that does not come.
    """
    if not disk or not delay_s:
        time.sleep(random.uniform(0, 1))
        return
    deadline_s = time.monotonic() + SYNC_SECONDS_MAX
    while disk.sync_under_way_s() < WORST_SHARE * delay_s:
        if time.monotonic() > deadline_s:
            raise RoundFailed(f"No moment late in a sync came within {SYNC_SECONDS_MAX:.0f} s.")
        time.sleep(0.001)


def found_in(directory: Path, *, address: Address, options: Mapping[str, str]) -> set[str]:
    """The reservations that a server started in this directory knows."""
    with MeasuredStore(directory, address=address, options=options) as store:
        return reservations_in(store, item_id=ITEM_ID)


def figures_of(alone: Sequence[Confirmation], answers: Answers, *, started_s: float, ended_s: float) -> CallFigures:
    """The figures of the calls that were made alone, and of those that were answered in the measured time.

    Raises RoundFailed.
    """
    measured = [confirmation for confirmation in answers.confirmed if started_s <= confirmation.at_s < ended_s]
    if len(measured) < 2:
        raise RoundFailed("Fewer than two reservations were confirmed during the measurement.")
    times_ms = sorted(confirmation.took_s * 1000 for confirmation in measured)
    return CallFigures(
        alone_ms=statistics.median(confirmation.took_s * 1000 for confirmation in alone),
        reservations_per_second=len(measured) / (ended_s - started_s),
        p50_ms=percentile(times_ms, 0.5),
        p99_ms=percentile(times_ms, 0.99),
        unanswered=sum(started_s <= at_s < ended_s for at_s in answers.unanswered),
        confirmed=len({confirmation.reservation_id for confirmation in [*alone, *answers.confirmed]}),
    )
