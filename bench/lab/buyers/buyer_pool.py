"""Processes of buyers that are started once and then run one strategy after the other."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import BrokenBarrierError

from bench.lab.buyers import buyer_process
from bench.lab.buyers.buyer_process import BuyerTask, SaleProgress
from bench.lab.buyers.calls import Result
from bench.spawned_processes import SPAWN, BuyersFailed, SpawnedProcesses

# A run ends at the latest this long after its last call may have been sent.
LATE_SECONDS = 30.0


class BuyerPool:
    """The processes. In each run: `prepare`, `start`, `results`, `disconnect`."""

    def __init__(self, *, processes: int, clients: int) -> None:
        # Every client waits at the barrier, and so does this process.
        self._barrier = SPAWN.Barrier(processes * clients + 1)
        self.progress = SaleProgress(clients=processes * clients)
        self._processes = SpawnedProcesses(
            buyer_process.run, [(self._barrier, self.progress, number * clients) for number in range(processes)]
        )

    def prepare(self, tasks: Sequence[BuyerTask]) -> None:
        """Give each process its task. Its clients connect and wait at the barrier."""
        self.progress.reset()
        for pipe, task in zip(self._processes.pipes, tasks, strict=True):
            pipe.send(task)
        deadline_s = time.monotonic() + buyer_process.BARRIER_SECONDS
        while self._barrier.n_waiting < self._barrier.parties - 1:
            if time.monotonic() > deadline_s or not self._processes.all_run():
                raise BuyersFailed("A process of buyers did not reach the barrier.")
            time.sleep(0.005)

    def start(self) -> None:
        try:
            self._barrier.wait(buyer_process.BARRIER_SECONDS)
        except BrokenBarrierError:
            raise BuyersFailed("A process of buyers left the barrier.") from None

    def results(self, *, seconds_max: float) -> list[Result]:
        """The result of every call, in the order of their start. The clients stay connected until `disconnect`."""
        parts = self._processes.answers(seconds_max=seconds_max + LATE_SECONDS)
        return sorted((result for part in parts for result in part), key=lambda result: result.started_s)

    def disconnect(self) -> None:
        """Let the clients close their connections."""
        self._processes.tell("disconnect")
        for _answer in self._processes.answers(seconds_max=LATE_SECONDS):
            pass

    def stop(self) -> None:
        self._processes.stop()


@contextmanager
def running_pool(*, processes: int, clients: int) -> Iterator[BuyerPool]:
    pool = BuyerPool(processes=processes, clients=clients)
    try:
        yield pool
    finally:
        pool.stop()
