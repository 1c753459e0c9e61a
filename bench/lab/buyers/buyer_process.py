"""One process of buyers: stays for a whole evening of runs, and in each sends its calls from a few threads.

No Django in here. The process is started fresh (spawn); a thread is a client, with a strategy, a connection and a clock
of its own.
"""

import gc
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

import psycopg
from redis.exceptions import ConnectionError as StoreAway

from bench.lab.buyers.calls import ERROR, NOT_SENT, Call, Result
from bench.lab.servers.strategy_client import client_of
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Strategy, Surroundings

# Other processes may need this long to start.
BARRIER_SECONDS = 60.0
# A client whose store is away does not burn all its calls in the tenth of a second until it is back.
AWAY_REST_SECONDS = 0.05
# A statement that waits longer than this for a row is given up, and the run goes on.
LOCK_WAIT_MS = 1_000


@dataclass(frozen=True, slots=True)
class Orders:
    """What one process is told to do in one run. `hands` are the calls of each of its clients."""

    strategy_id: str
    name: str
    store_url: str
    database_url: str | None
    hands: Sequence[Sequence[Call]]
    seconds_max: float
    clock_ahead_seconds: float = 0.0
    lease_seconds: float | None = None


def run(barrier: Barrier, pipe: Connection) -> None:
    """Body of the process: orders in, results out, and then "leave", until None comes."""
    # Ctrl-C reaches the whole group of processes; the parent is the one that acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    while (orders := pipe.recv()) is not None:
        clients = [strategy_of(orders) for _ in orders.hands]
        results: list[list[Result]] = [[] for _ in orders.hands]
        threads = [
            threading.Thread(target=buy, args=(strategy, hand, orders.seconds_max, barrier, noted))
            for strategy, hand, noted in zip(clients, orders.hands, results, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pipe.send([result for noted in results for result in noted])
        # The server's counters are read while the connections still stand.
        pipe.recv()
        for strategy in clients:
            leave(strategy)
        pipe.send("left")


def strategy_of(orders: Orders) -> Strategy:
    """A client of its own, connected and ready."""
    kind = BY_ID[orders.strategy_id]
    surroundings = Surroundings(
        store=client_of(orders.store_url, home=kind.home),
        database=database_of(orders.database_url),
        clock=clock_of(orders.clock_ahead_seconds),
        lease_seconds=orders.lease_seconds,
    )
    strategy = kind(surroundings, orders.name)
    strategy.left()
    return strategy


def database_of(url: str | None) -> Any:
    """A function that connects to PostgreSQL, or None."""
    return None if url is None else partial(psycopg.connect, url, options=f"-c lock_timeout={LOCK_WAIT_MS}")


def clock_of(ahead_seconds: float) -> Any:
    """The time of day, so many seconds ahead."""
    return (lambda: time.time() + ahead_seconds) if ahead_seconds else time.time


def leave(strategy: Strategy) -> None:
    strategy.close()
    if strategy.store is not None:
        strategy.store.close()


def buy(strategy: Strategy, hand: Sequence[Call], seconds_max: float, barrier: Barrier, noted: list[Result]) -> None:
    """Body of a client's thread."""
    barrier.wait(BARRIER_SECONDS)
    deadline_s = time.monotonic() + seconds_max
    for call in hand:
        noted.append(attempt(strategy, call, deadline_s))


def attempt(strategy: Strategy, call: Call, deadline_s: float = float("inf")) -> Result:
    """One attempt and how long it took. Whatever it raises is an error of the strategy, and the run goes on."""
    started_s = time.monotonic()
    if started_s > deadline_s:
        return Result(call.buyer, call.units, NOT_SENT)
    try:
        word, error = str(strategy.attempt(call.buyer, call.units)), ""
    except Exception as fault:
        word, error = ERROR, f"{type(fault).__name__}: {fault}"
        if isinstance(fault, StoreAway):
            time.sleep(AWAY_REST_SECONDS)
    return Result(call.buyer, call.units, word, started_s, time.monotonic(), error)
