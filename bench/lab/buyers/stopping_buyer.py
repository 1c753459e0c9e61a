"""A buyer that stops or kills its own process before the nth command of its attempt."""

import os
import signal
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from psycopg.sql import Composable

from bench.lab.buyers.buyer_process import LOCK_WAIT_MS, attempt
from bench.lab.buyers.calls import Call
from bench.lab.schedules.traced_store import TracedConnection, TracedStore, Tracer, traced
from bench.lab.servers.lab_store import CLIENT_SECONDS_MAX, strategy_client
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Backend, Surroundings

BUYER = 1


@dataclass(frozen=True, slots=True)
class StopTask:
    """The buyer wants `units`, and sends itself `signal_number` before command number `step`; the first is 1."""

    strategy_id: str
    name: str
    store_url: str
    database_url: str | None
    lease_seconds: float
    units: int
    step: int
    signal_number: int


class CommandCounter(Tracer):
    """Counts the commands of the attempt, and sends the signal before the one that the task names."""

    def __init__(self, task: StopTask, pipe: Connection) -> None:
        self.task = task
        self.pipe = pipe
        self.count: int | None = None

    def step(self, args: tuple[Any, ...]) -> None:
        if self.count is None:
            return
        self.count += 1
        if self.count == self.task.step:
            text = args[0].as_string() if isinstance(args[0], Composable) else str(args[0])
            self.pipe.send(text.split()[0].upper())
            os.kill(os.getpid(), self.task.signal_number)


def run(task: StopTask, pipe: Connection) -> None:
    """Body of the process: one attempt. Sends the command before which it stops, and then the attempt's result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    counter = CommandCounter(task, pipe)
    kind = BY_ID[task.strategy_id]
    surroundings = Surroundings(
        store=traced_store(task.store_url, backend=kind.backend, counter=counter),
        database=partial(traced_connection, task.database_url, counter) if task.database_url else None,
        lease_seconds=task.lease_seconds,
    )
    strategy = kind(surroundings, task.name)
    strategy.left()
    counter.count = 0
    pipe.send(attempt(strategy, Call(BUYER, task.units)))


def traced_store(url: str, *, backend: Backend, counter: CommandCounter) -> Any:
    """A client whose commands are counted. Not for the cluster: the strategy there sends a single command."""
    if backend is Backend.STORE:
        return traced(TracedStore, counter, url, socket_timeout=CLIENT_SECONDS_MAX)
    return strategy_client(url, backend=backend)


def traced_connection(url: str, counter: CommandCounter) -> TracedConnection:
    connection = TracedConnection.traced_by(counter, url)
    connection.execute(f"SET lock_timeout = {LOCK_WAIT_MS}")
    connection.commit()
    return connection
