"""A crowd of buyers: processes that are started once and run one strategy after the other."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import BrokenBarrierError
from typing import Any

from bench.lab.buyers import buyer_process
from bench.lab.buyers.buyer_process import Orders
from bench.lab.buyers.calls import Result

# A run ends at the latest this long after its last call may have been sent.
LATE_SECONDS = 30.0


class CrowdFailed(Exception):
    """A process of buyers did not start, died, or did not come back. The run says nothing."""


class Crowd:
    """So many processes with so many clients each."""

    def __init__(self, *, processes: int, clients: int) -> None:
        # Fork would hand connections and threads of this process to the children.
        context = get_context("spawn")
        self.clients = clients
        # Every client waits at the barrier, and so do we.
        self._barrier = context.Barrier(processes * clients + 1)
        self._team: list[tuple[SpawnProcess, Connection]] = []
        for number in range(processes):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=buyer_process.run, args=(self._barrier, theirs), name=f"buyers-{number + 1}", daemon=True
            )
            process.start()
            theirs.close()
            self._team.append((process, ours))

    def gather(self, orders: Sequence[Orders]) -> None:
        """Hand each process its orders; they connect and wait at the barrier."""
        for (_process, pipe), order in zip(self._team, orders, strict=True):
            pipe.send(order)
        deadline_s = time.monotonic() + buyer_process.BARRIER_SECONDS
        while self._barrier.n_waiting < self._barrier.parties - 1:
            if time.monotonic() > deadline_s or not all(process.is_alive() for process, _pipe in self._team):
                raise CrowdFailed("A process of buyers did not come to the barrier.")
            time.sleep(0.005)

    def rush(self) -> None:
        """Open the barrier."""
        try:
            self._barrier.wait(buyer_process.BARRIER_SECONDS)
        except BrokenBarrierError:
            raise CrowdFailed("A process of buyers left the barrier.") from None

    def results(self, *, seconds_max: float) -> list[Result]:
        """What became of every call. The clients stay connected until `leave`."""
        results: list[Result] = []
        for part in self._answers(seconds_max + LATE_SECONDS):
            results += part
        return sorted(results, key=lambda result: result.started_s)

    def leave(self) -> None:
        """The clients close their connections."""
        for _process, pipe in self._team:
            pipe.send("leave")
        for _answer in self._answers(LATE_SECONDS):
            pass

    def _answers(self, seconds_max: float) -> Iterator[Any]:
        waiting: list[Any] = [pipe for _process, pipe in self._team]
        deadline_s = time.monotonic() + seconds_max
        while waiting:
            ready = wait(waiting, timeout=max(0.0, deadline_s - time.monotonic()))
            if not ready:
                raise CrowdFailed("A process of buyers did not come back.")
            for pipe in ready:
                waiting.remove(pipe)
                assert isinstance(pipe, Connection)
                try:
                    yield pipe.recv()
                except EOFError:
                    raise CrowdFailed("A process of buyers died.") from None

    def send_home(self) -> None:
        """End the processes."""
        for process, pipe in self._team:
            with contextlib.suppress(OSError):
                pipe.send(None)
            process.join(1)
            process.kill()
            process.join()
            pipe.close()


@contextlib.contextmanager
def crowd_of(*, processes: int, clients: int) -> Iterator[Crowd]:
    """A crowd for the length of a `with`."""
    crowd = Crowd(processes=processes, clients=clients)
    try:
        yield crowd
    finally:
        crowd.send_home()
