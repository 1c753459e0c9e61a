"""The rush: several processes that leave a barrier together and call the shop until every call has been made."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.sharedctypes import Synchronized
from threading import BrokenBarrierError

from bench.stampede import client
from bench.stampede.plan import Answer, Call

# How often the progress bar moves and the witness looks; a look costs the shop a millisecond.
TICK_SECONDS = 0.1


class RushFailed(Exception):
    """A process of the herd did not start. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class Rush:
    """What came back. Times are the machine's monotonic clock; `started_s` is when the barrier opened.

    `died` counts processes that ended without a report: their calls have no answers here.
    """

    answers: Sequence[Answer]
    started_s: float
    ended_s: float
    died: int


def rush(
    *,
    url: str,
    chains: Sequence[Sequence[Call]],
    processes: int,
    connections: int,
    seconds_max: float,
    tick: Callable[[int], object],
) -> Rush:
    """Send all calls from `processes` processes with `connections` connections each.

    `tick` hears several times a second how many calls are done. Ends by itself some 10 s after `seconds_max` at the
    latest. Raises RushFailed.
    """
    # Fork would hand the database connections of this process to the children.
    context = get_context("spawn")
    barrier = context.Barrier(processes + 1)
    team: list[tuple[SpawnProcess, Synchronized[int], Connection]] = []
    try:
        for number in range(processes):
            # Neighbours stay together: a repeated call that is sent beside its first one is the next chain.
            share = chains[len(chains) * number // processes : len(chains) * (number + 1) // processes]
            orders = client.Orders(url=url, chains=share, connections=connections, seconds_max=seconds_max)
            done: Synchronized[int] = context.Value("L", 0, lock=True)
            results, sender = context.Pipe(duplex=False)
            process = context.Process(
                target=client.run, args=(orders, barrier, done, sender), name=f"herd-{number + 1}", daemon=True
            )
            process.start()
            sender.close()
            team.append((process, done, results))
        try:
            barrier.wait(client.BARRIER_SECONDS)
        except BrokenBarrierError:
            raise RushFailed("A process of the herd did not start, so nothing was sent.") from None
        started_s = time.monotonic()
        counters = [done for _process, done, _results in team]
        reports = gather(
            [results for _process, _done, results in team],
            until_s=started_s + seconds_max + 2 * client.CALL_SECONDS_MAX,
            tick=lambda: tick(sum(done.value for done in counters)),
        )
        return Rush(
            answers=[answer for report in reports for answer in report],
            started_s=started_s,
            ended_s=time.monotonic(),
            died=processes - len(reports),
        )
    finally:
        # Those that have reported are ending; the others are late, or we were told to stop.
        for process, _done, results in team:
            results.close()
            process.kill()
            process.join()


def gather(pipes: Sequence[Connection], *, until_s: float, tick: Callable[[], object]) -> list[list[Answer]]:
    """One report from each pipe, without those whose process died or is late."""
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
