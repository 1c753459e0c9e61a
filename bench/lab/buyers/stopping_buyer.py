"""The buyer to whom it happens: stops or kills its own process before the nth command of its attempt."""

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
from bench.strategies.base.strategy import Home, Surroundings

BUYER = 1


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to the victim: `signal_number` before command number `step` of its attempt, the first being 1."""

    strategy_id: str
    name: str
    store_url: str
    database_url: str | None
    lease_seconds: float
    step: int
    signal_number: int


class Steps:
    """Counts the commands of an attempt, and does what fate says when the number is reached."""

    def __init__(self, fate: Fate, pipe: Connection) -> None:
        self.fate = fate
        self.pipe = pipe
        self.done: int | None = None

    def __call__(self, command: tuple[Any, ...]) -> None:
        if self.done is None:
            return
        self.done += 1
        if self.done == self.fate.step:
            text = command[0].as_string() if isinstance(command[0], Composable) else str(command[0])
            self.pipe.send(text.split()[0].upper())
            os.kill(os.getpid(), self.fate.signal_number)


def run(fate: Fate, pipe: Connection) -> None:
    """Body of the process: one attempt. Sends the command before which it stops, and what became of the attempt."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    steps = Steps(fate, pipe)
    kind = BY_ID[fate.strategy_id]
    surroundings = Surroundings(
        store=stepped_store(fate.store_url, home=kind.home, steps=steps),
        database=partial(stepped_connection, fate.database_url, steps) if fate.database_url else None,
        lease_seconds=fate.lease_seconds,
    )
    strategy = kind(surroundings, fate.name)
    strategy.left()
    steps.done = 0
    pipe.send(attempt(strategy, Call(BUYER, 1)))


def stepped_store(url: str, *, home: Home, steps: Steps) -> Any:
    """A store that steps; the cluster's client does not, since what runs there is one command."""
    if home is Home.DATABASE:
        return None
    if home is Home.CLUSTER:
        return RedisCluster.from_url(url, socket_timeout=CLIENT_SECONDS_MAX)
    return SteppedStore.at(url, steps, socket_timeout=CLIENT_SECONDS_MAX)


def stepped_connection(url: str, steps: Steps) -> SteppedConnection:
    connection = SteppedConnection.at(url, steps)
    connection.execute(f"SET lock_timeout = {LOCK_WAIT_MS}")
    connection.commit()
    return connection
