"""A buyer in a process of its own that stops itself with SIGSTOP before a command, and is continued or killed there."""

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from typing import Any

from bench.lab.schedules.stepped_store import SteppedStore
from bench.strategies.base.strategy import Answer, Strategy, Surroundings

# Starting Python and importing takes a second or two on a busy machine.
SECONDS_MAX = 30.0

_SPAWN = multiprocessing.get_context("spawn")


class PausedBuyer:
    """One attempt of one buyer. It stops before the first command that has `stop_before` among its arguments."""

    def __init__(
        self, strategy: type[Strategy], *, url: str, name: str, stop_before: str, lease_seconds: float
    ) -> None:
        self._answers, answers = _SPAWN.Pipe(duplex=False)
        self._process = _SPAWN.Process(
            target=_buy, args=(strategy, url, name, stop_before, lease_seconds, answers), daemon=True
        )
        self._process.start()
        answers.close()

    def wait_until_stopped(self) -> None:
        assert self._answers.poll(SECONDS_MAX), "the buyer did not stop"
        assert self._answers.recv() == "stopping"
        assert self._process.pid is not None
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self) -> Answer:
        """Let it continue, and return its answer."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGCONT)
        assert self._answers.poll(SECONDS_MAX), "the buyer gave no answer"
        answer = Answer(self._answers.recv())
        self._process.join(SECONDS_MAX)
        return answer

    def kill(self) -> None:
        """kill -9. May be called twice."""
        self._process.kill()
        self._process.join(SECONDS_MAX)


def _buy(
    strategy: type[Strategy], url: str, name: str, stop_before: str, lease_seconds: float, answers: Connection
) -> None:
    def step(args: tuple[Any, ...]) -> None:
        nonlocal stop_before
        if stop_before in args:
            stop_before = ""
            answers.send("stopping")
            os.kill(os.getpid(), signal.SIGSTOP)

    sale = strategy(Surroundings(store=SteppedStore.at(url, step), lease_seconds=lease_seconds), name)
    answers.send(sale.attempt(1).value)
    sale.close()
