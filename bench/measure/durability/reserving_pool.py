"""Processes of buyers that are started once and reserve in every round."""

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from bench.measure.durability import reserving_process
from bench.measure.durability.reserving_process import Answers

ANSWER_SECONDS_MAX = 30.0


class ReservingFailed(Exception):
    """A process of buyers did not answer, or was refused. The round has no result."""


class ReservingPool:
    """The processes. In each round: `go`, and later `stop`."""

    def __init__(self, *, processes: int, threads: int) -> None:
        context = get_context("spawn")
        self._processes: list[tuple[SpawnProcess, Connection]] = []
        for _ in range(processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=reserving_process.run, args=(theirs, threads), daemon=True)
            process.start()
            theirs.close()
            self._processes.append((process, ours))
        for _process, pipe in self._processes:
            self._receive(pipe)

    def _receive(self, pipe: Connection) -> Any:
        try:
            if pipe.poll(ANSWER_SECONDS_MAX):
                return pipe.recv()
        except EOFError:
            pass
        raise ReservingFailed("A process of buyers did not answer.")

    def go(self, *, yes_replicas: int = 0) -> None:
        """Start reserving; a yes waits for so many replicas."""
        for _process, pipe in self._processes:
            pipe.send(yes_replicas)

    def stop(self) -> Answers:
        """Stop reserving, and collect all answers. Raises ReservingFailed."""
        for _process, pipe in self._processes:
            pipe.send("stop")
        total = Answers()
        for _process, pipe in self._processes:
            for answers in self._receive(pipe):
                total.confirmed += answers.confirmed
                total.unanswered += answers.unanswered
                total.unexpected += answers.unexpected
        if total.unexpected:
            raise ReservingFailed(f"A buyer was told {total.unexpected[0]}, though the store sells without limit.")
        return total

    def close(self) -> None:
        for _process, pipe in self._processes:
            pipe.close()
        for process, _pipe in self._processes:
            process.join(1)
            process.kill()
            process.join()


@contextmanager
def running_pool(*, processes: int, threads: int) -> Iterator[ReservingPool]:
    """A pool for the length of a `with`."""
    pool = ReservingPool(processes=processes, threads=threads)
    try:
        yield pool
    finally:
        pool.close()
