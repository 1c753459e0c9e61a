"""One process of buyers. It stays for many runs, and in each sends its calls from a few threads.

No Django in here: the process is started fresh (spawn). Each thread is a client with a strategy and a connection of its
own.
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

from bench.lab.buyers.calls import ERROR, NOT_SENT, SOLD, Call, Result
from bench.lab.servers.lab_store import strategy_client
from bench.spawned_processes import SPAWN, receive
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Strategy, Surroundings

# Other processes may need this long to start.
BARRIER_SECONDS = 60.0
# A pause after a call that could not reach the store, so that a client does not use up its calls while it restarts.
AWAY_PAUSE_SECONDS = 0.05
# A statement that waits longer than this for a row is cancelled, and the run continues.
LOCK_WAIT_MS = 1_000


class SaleProgress:
    """Counters in memory that all processes of a pool share. Each client has its own, so none waits for another."""

    def __init__(self, *, clients: int) -> None:
        self._answers = SPAWN.RawArray("l", clients)
        self._units_sold = SPAWN.RawArray("l", clients)
        # Clients keep some of their calls until this is set, so that there are always calls left after a fault.
        self.fault_is_over = SPAWN.Event()

    def reset(self) -> None:
        """Start counting for a new sale."""
        for client in range(len(self._answers)):
            self._answers[client] = self._units_sold[client] = 0
        self.fault_is_over.clear()

    def add(self, result: Result, *, client: int) -> None:
        """Count the result of a call."""
        self._answers[client] += result.answer != NOT_SENT
        self._units_sold[client] += result.units if result.answer == SOLD else 0

    @property
    def answers(self) -> int:
        return sum(self._answers)

    @property
    def units_sold(self) -> int:
        return sum(self._units_sold)


@dataclass(frozen=True, slots=True)
class BuyerTask:
    """The calls of one process in one run. `calls_by_client` has one list of calls for each of its clients.

    Each client makes `calls_before_fault` calls and keeps the rest until the fault is over; None if there is no fault.
    """

    strategy_id: str
    name: str
    store_url: str
    database_url: str | None
    calls_by_client: Sequence[Sequence[Call]]
    seconds_max: float
    lease_seconds: float | None = None
    calls_before_fault: int | None = None


def run(pipe: Connection, barrier: Barrier, progress: SaleProgress, first_client: int) -> None:
    """Body of the process: for each task, send the results and wait for "disconnect". Ends when the parent is gone."""
    # Ctrl-C reaches the whole group of processes; only the parent acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    while (task := receive(pipe)) is not None:
        clients = [connected_strategy(task) for _ in task.calls_by_client]
        results: list[list[Result]] = [[] for _ in task.calls_by_client]
        threads = [
            threading.Thread(target=buy, args=(strategy, calls, task, barrier, own_results, progress, client))
            for client, (strategy, calls, own_results) in enumerate(
                zip(clients, task.calls_by_client, results, strict=True), start=first_client
            )
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pipe.send([result for own_results in results for result in own_results])
        # The server's counters are read while the connections are still open.
        receive(pipe)
        for strategy in clients:
            disconnect(strategy)
        pipe.send("disconnected")


def connected_strategy(task: BuyerTask) -> Strategy:
    """The strategy with a client of its own, already connected."""
    kind = BY_ID[task.strategy_id]
    surroundings = Surroundings(
        store=strategy_client(task.store_url, backend=kind.backend),
        database=database_connector(task.database_url),
        lease_seconds=task.lease_seconds,
    )
    strategy = kind(surroundings, task.name)
    strategy.left()
    return strategy


def database_connector(url: str | None) -> Any:
    """A function that connects to PostgreSQL, or None."""
    return None if url is None else partial(psycopg.connect, url, options=f"-c lock_timeout={LOCK_WAIT_MS}")


def disconnect(strategy: Strategy) -> None:
    strategy.close()
    if strategy.store is not None:
        strategy.store.close()


def buy(
    strategy: Strategy,
    calls: Sequence[Call],
    task: BuyerTask,
    barrier: Barrier,
    results: list[Result],
    progress: SaleProgress,
    client: int,
) -> None:
    """Body of a client's thread. `client` is its number in the whole pool."""
    barrier.wait(BARRIER_SECONDS)
    deadline_s = time.monotonic() + task.seconds_max
    for number, call in enumerate(calls):
        if number == task.calls_before_fault:
            progress.fault_is_over.wait(deadline_s - time.monotonic())
        results.append(attempt(strategy, call, deadline_s))
        progress.add(results[-1], client=client)


def attempt(strategy: Strategy, call: Call, deadline_s: float = float("inf")) -> Result:
    """Make one attempt and time it. An exception becomes the result `error`, and the run continues."""
    started_s = time.monotonic()
    if started_s > deadline_s:
        return Result(call.buyer, call.units, NOT_SENT)
    try:
        answer, error = str(strategy.attempt(call.buyer, call.units)), ""
    except Exception as exception:
        answer, error = ERROR, f"{type(exception).__name__}: {exception}"
        if isinstance(exception, StoreAway):
            time.sleep(AWAY_PAUSE_SECONDS)
    return Result(call.buyer, call.units, answer, started_s, time.monotonic(), error)
