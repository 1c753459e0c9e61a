"""The interface of a strategy, and what it may use of its surroundings."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import psycopg


class Answer(StrEnum):
    """How an attempt to buy ends. A fault of the store or the database is an exception."""

    SOLD = "sold"
    REFUSED = "refused"
    # Did not get the lock, or had no retries left: nothing was bought, though units may be left.
    BUSY = "busy"


class Backend(StrEnum):
    """Where a strategy keeps its stock. Decides which servers a run needs."""

    STORE = "store"
    CLUSTER = "cluster"
    DATABASE = "database"


class Fault(StrEnum):
    """A fault that the lab injects into a buyer, a store or a clock while a sale runs."""

    PAUSED = "paused"
    KILLED = "killed"
    STORE_RESTARTED = "store_restarted"
    STORE_LOST = "store_lost"
    CLOCK_AHEAD = "clock_ahead"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that a strategy may use besides its own code, so that schedules and faults can replace it.

    `store` is a redis-py client with `decode_responses` off (a RedisCluster for the backend `cluster`). `database`
    opens a connection. `clock` is the client's own, in seconds since 1970. `lease_seconds` replaces a lock's own
    lease, so that a run under a fault need not wait for 30 s.
    """

    store: Any
    database: Callable[[], psycopg.Connection[Any]] | None = None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    lease_seconds: float | None = None


class Strategy(ABC):
    """One way to sell units of one item.

    `name` is the prefix of the keys or tables of a run. Strategies with the same name share their stock, also between
    processes.
    """

    # The name on the command line and of the file.
    id: ClassVar[str]
    # One sentence about the results to expect.
    expected: ClassVar[str]
    # Whether it never oversells, gets stuck or refuses units that it has, as long as no fault happens.
    correct: ClassVar[bool]
    # Whether it never oversells as long as no fault happens, though it has other flaws. Not needed for correct ones.
    never_oversells: ClassVar[bool] = False
    # False if it refuses units that it has when buyers ask for several: one who cannot get all blocks some for others.
    sells_several_units: ClassVar[bool] = True
    # The faults under which it is expected to oversell, to get stuck or to lose units.
    breaks_under: ClassVar[frozenset[Fault]] = frozenset()
    backend: ClassVar[Backend] = Backend.STORE
    # How long its lock lasts unless it is renewed or released; 0 if it has no lock, or one that never expires.
    lease_seconds: float = 0.0

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        self.surroundings = surroundings
        self.store = surroundings.store
        self.name = name

    @abstractmethod
    def set_stock(self, units: int) -> None:
        """Put so many units on sale, before the first attempt."""

    @abstractmethod
    def attempt(self, buyer: int, units: int = 1) -> Answer:
        """Try to buy `units` for `buyer`."""

    @abstractmethod
    def left(self) -> int | None:
        """The units left according to the strategy itself; None if it does not know."""

    @abstractmethod
    def tear_down(self) -> None:
        """Remove all that `set_stock` and the attempts created, when no process uses it any more."""

    def close(self) -> None:  # noqa: B027 -- most have nothing to close
        """End its threads and connections in this process."""


class CounterStock(Strategy):
    """The stock is the integer at `<name>:stock`."""

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        super().__init__(surroundings, name)
        self.key = f"{name}:stock"

    def set_stock(self, units: int) -> None:
        self.store.set(self.key, units)

    def left(self) -> int | None:
        value: Any = self.store.get(self.key)
        return None if value is None else int(value)

    def tear_down(self) -> None:
        self.store.delete(self.key)
