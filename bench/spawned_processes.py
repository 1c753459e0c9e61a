"""Processes that are started fresh, each at the other end of a pipe: those of buyers. No Django in here."""

import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

# With fork, they would inherit the connections and threads of this process.
SPAWN = get_context("spawn")
# For all of them together, to end by themselves when their pipes are closed.
STOP_SECONDS = 1.0


class BuyersFailed(Exception):
    """A process of buyers did not start, died, or did not answer. The run has no result."""


class SpawnedProcesses:
    """They run from the beginning until `stop`."""

    def __init__(self, body: Callable[..., None], arguments: Iterable[tuple[Any, ...]]) -> None:
        """A process for each of the `arguments`, which `body` gets after its end of the pipe."""
        self.pipes: list[Connection] = []
        self._processes: list[SpawnProcess] = []
        for more in arguments:
            ours, theirs = SPAWN.Pipe()
            process = SPAWN.Process(target=body, args=(theirs, *more), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self._processes.append(process)

    def all_run(self) -> bool:
        return all(process.is_alive() for process in self._processes)

    def tell(self, message: Any) -> None:
        for pipe in self.pipes:
            pipe.send(message)

    def answers(self, *, seconds_max: float) -> Iterator[Any]:
        """One of each process, as they come. Raises BuyersFailed."""
        waiting: list[Any] = [*self.pipes]
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
        """Close the pipes, and kill those that still run after a moment."""
        for pipe in self.pipes:
            pipe.close()
        deadline_s = time.monotonic() + STOP_SECONDS
        for process in self._processes:
            process.join(max(0.0, deadline_s - time.monotonic()))
            process.kill()
            process.join()


def receive(pipe: Connection) -> Any:
    """In such a process: the next message of the parent; None if the pipe is closed."""
    try:
        return pipe.recv()
    except EOFError:
        return None
