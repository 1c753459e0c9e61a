"""Several processes that leave a barrier together and send calls to the shop until all have been sent."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import Synchronized
from threading import BrokenBarrierError

from bench.http_requests import CALL_SECONDS_MAX
from bench.spawned_processes import SPAWN, BuyersFailed, SpawnedProcesses
from bench.stampede import client
from bench.stampede.plan import Answer, Call

# How often the progress bar moves and PostgreSQL is polled for new orders; a poll costs a millisecond.
TICK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class RushResult:
    """The answers that came back. Times are the machine's monotonic clock; `started_s` is when the barrier opened.

    `died` counts processes that ended without a report; the answers to their calls are missing here.
    """

    answers: Sequence[Answer]
    started_s: float
    ended_s: float
    died: int


def rush(
    *,
    urls: Mapping[int, str],
    chains: Sequence[Sequence[Call]],
    processes: int,
    connections: int,
    seconds_max: float,
    tick: Callable[[int], object],
) -> RushResult:
    """Send all calls from `processes` processes with `connections` connections each. `urls` has one for each item.

    `tick` is called several times a second with the number of calls done. Ends some 20 s after `seconds_max` at the
    latest. Raises BuyersFailed if nothing was sent.
    """
    barrier = SPAWN.Barrier(processes + 1)
    # Consecutive chains stay in one process: a repeated call may be the chain after that of its first call.
    edges = [len(chains) * number // processes for number in range(processes + 1)]
    counters: list[Synchronized[int]] = [SPAWN.Value("L", 0, lock=True) for _ in range(processes)]
    assignments = [
        client.Assignment(urls=urls, chains=chains[first:end], connections=connections, seconds_max=seconds_max)
        for first, end in pairwise(edges)
    ]
    workers = SpawnedProcesses(client.run, zip(assignments, repeat(barrier), counters, strict=False))
    try:
        try:
            barrier.wait(client.BARRIER_SECONDS)
        except BrokenBarrierError:
            raise BuyersFailed("A client process did not start, so nothing was sent.") from None
        started_s = time.monotonic()
        reports = gather(
            workers.pipes,
            until_s=started_s + seconds_max + 2 * CALL_SECONDS_MAX,
            tick=lambda: tick(sum(done.value for done in counters)),
        )
        return RushResult(
            answers=[answer for report in reports for answer in report],
            started_s=started_s,
            ended_s=time.monotonic(),
            died=processes - len(reports),
        )
    finally:
        workers.stop()


def gather(pipes: Sequence[Connection], *, until_s: float, tick: Callable[[], object]) -> list[list[Answer]]:
    """The reports that came in time; none from a process that died."""
    reports, open_pipes = [], list(pipes)
    while open_pipes and time.monotonic() < until_s:
        for pipe in wait(open_pipes, timeout=TICK_SECONDS):
            assert isinstance(pipe, Connection)
            open_pipes.remove(pipe)
            try:
                reports.append(pipe.recv())
            except EOFError:
                continue
        tick()
    return reports
