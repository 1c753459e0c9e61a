"""Processes of buyers that are started once and then run one strategy after the other."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import BrokenBarrierError
from typing import Any

from bench.lab.buyers import buyer_process
from bench.lab.buyers.buyer_process import BuyerTask, SaleProgress
from bench.lab.buyers.calls import Result

# A run ends at the latest this long after its last call may have been sent.
LATE_SECONDS = 30.0


class BuyersFailed(Exception):
    """A process of buyers did not start, died, or did not answer. The run has no result."""


class BuyerPool:
    """The processes. In each run: `prepare`, `start`, `results`, `disconnect`."""

    def __init__(self, *, processes: int, clients: int) -> None:
        # Fork would copy connections and threads of this process into the children.
        context = get_context("spawn")
        # Every client waits at the barrier, and so does this process.
        self._barrier = context.Barrier(processes * clients + 1)
        self.progress = SaleProgress(context, clients=processes * clients)
        self._processes: list[tuple[SpawnProcess, Connection]] = []
        for number in range(processes):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=buyer_process.run,
                args=(self._barrier, theirs, self.progress, number * clients),
                name=f"buyers-{number + 1}",
                daemon=True,
            )
            process.start()
            theirs.close()
            self._processes.append((process, ours))

    def prepare(self, tasks: Sequence[BuyerTask]) -> None:
        """Give each process its task. Its clients connect and wait at the barrier."""
        self.progress.reset()
        for (_process, pipe), task in zip(self._processes, tasks, strict=True):
            pipe.send(task)
        deadline_s = time.monotonic() + buyer_process.BARRIER_SECONDS
        while self._barrier.n_waiting < self._barrier.parties - 1:
            if time.monotonic() > deadline_s or not all(process.is_alive() for process, _pipe in self._processes):
                raise BuyersFailed("A process of buyers did not reach the barrier.")
            time.sleep(0.005)

    def start(self) -> None:
        try:
            self._barrier.wait(buyer_process.BARRIER_SECONDS)
        except BrokenBarrierError:
            raise BuyersFailed("A process of buyers left the barrier.") from None

    def results(self, *, seconds_max: float) -> list[Result]:
        """The result of every call, in the order of their start. The clients stay connected until `disconnect`."""
        results: list[Result] = []
        for part in self._answers(seconds_max + LATE_SECONDS):
            results += part
        return sorted(results, key=lambda result: result.started_s)

    def disconnect(self) -> None:
        """Let the clients close their connections."""
        for _process, pipe in self._processes:
            pipe.send("disconnect")
        for _answer in self._answers(LATE_SECONDS):
            pass

    def _answers(self, seconds_max: float) -> Iterator[Any]:
        waiting: list[Any] = [pipe for _process, pipe in self._processes]
        deadline_s = time.monotonic() + seconds_max
        while waiting:
            ready = wait(waiting, timeout=max(0.0, deadline_s - time.monotonic()))
            if not ready:
                raise BuyersFailed("A process of buyers did not answer.")
            for pipe in ready:
                waiting.remove(pipe)
                assert isinstance(pipe, Connection)
                try:
                    yield pipe.recv()
                except EOFError:
                    raise BuyersFailed("A process of buyers died.") from None

    def stop(self) -> None:
        for process, pipe in self._processes:
            with contextlib.suppress(OSError):
                pipe.send(None)
            process.join(1)
            process.kill()
            process.join()
            pipe.close()


@contextlib.contextmanager
def running_pool(*, processes: int, clients: int) -> Iterator[BuyerPool]:
    pool = BuyerPool(processes=processes, clients=clients)
    try:
        yield pool
    finally:
        pool.stop()
