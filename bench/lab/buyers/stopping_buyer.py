"""A buyer that stops or kills its own process before the nth command of its attempt."""

import os
import signal
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from psycopg.sql import Composable
from redis.cluster import RedisCluster

from bench.lab.buyers.buyer_process import LOCK_WAIT_MS, attempt
from bench.lab.buyers.calls import Call
from bench.lab.schedules.stepped_store import SteppedConnection, SteppedStore
from bench.lab.servers.lab_store import CLIENT_SECONDS_MAX
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


class CommandCounter:
    """Counts the commands of the attempt, and sends the signal before the one that the task names."""

    def __init__(self, task: StopTask, pipe: Connection) -> None:
        self.task = task
        self.pipe = pipe
        self.count: int | None = None

    def __call__(self, command: tuple[Any, ...]) -> None:
        if self.count is None:
            return
        self.count += 1
        if self.count == self.task.step:
            text = command[0].as_string() if isinstance(command[0], Composable) else str(command[0])
            self.pipe.send(text.split()[0].upper())
            os.kill(os.getpid(), self.task.signal_number)


def run(task: StopTask, pipe: Connection) -> None:
    """Body of the process: one attempt. Sends the command before which it stops, and then the attempt's result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    counter = CommandCounter(task, pipe)
    kind = BY_ID[task.strategy_id]
    surroundings = Surroundings(
        store=stepped_store(task.store_url, backend=kind.backend, counter=counter),
        database=partial(stepped_connection, task.database_url, counter) if task.database_url else None,
        lease_seconds=task.lease_seconds,
    )
    strategy = kind(surroundings, task.name)
    strategy.left()
    counter.count = 0
    pipe.send(attempt(strategy, Call(BUYER, task.units)))


def stepped_store(url: str, *, backend: Backend, counter: CommandCounter) -> Any:
    """A client whose commands are counted. Not for the cluster: the strategy there sends a single command."""
    if backend is Backend.DATABASE:
        return None
    if backend is Backend.CLUSTER:
        return RedisCluster.from_url(url, socket_timeout=CLIENT_SECONDS_MAX)
    return SteppedStore.at(url, counter, socket_timeout=CLIENT_SECONDS_MAX)


def stepped_connection(url: str, counter: CommandCounter) -> SteppedConnection:
    connection = SteppedConnection.at(url, counter)
    connection.execute(f"SET lock_timeout = {LOCK_WAIT_MS}")
    connection.commit()
    return connection
