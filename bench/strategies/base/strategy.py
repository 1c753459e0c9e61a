"""The interface that every strategy has, and the world that it may use."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import psycopg


class Answer(StrEnum):
    """What an attempt to buy ends in. A fault of the store or the database is an exception."""

    SOLD = "sold"
    REFUSED = "refused"
    # Gave up for want of a lock, or of retries: nothing was bought, though units may be left.
    BUSY = "busy"


class Home(StrEnum):
    """Where a strategy keeps its stock, and so which servers a run must bring up."""

    STORE = "store"
    CLUSTER = "cluster"
    DATABASE = "database"


class Fault(StrEnum):
    """What the lab does to the world while a sale runs."""

    PAUSED = "paused"
    KILLED = "killed"
    STORE_RESTARTED = "store_restarted"
    STORE_LOST = "store_lost"
    CLOCK_AHEAD = "clock_ahead"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that a strategy may use of the world, so that a schedule can be deterministic and a clock can be wrong.

    `store` is a redis-py client with `decode_responses` off (a RedisCluster where the strategy's home is the cluster);
    the interleaver hands in one that stops before each command. `database` opens a connection. `clock` is the client's
    own, seconds since 1970. `lease_seconds` replaces a lock's own lease, so that a fault run need not wait for 30 s.
    """

    store: Any
    database: Callable[[], psycopg.Connection[Any]] | None = None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    lease_seconds: float | None = None


class Strategy(ABC):
    """One way to sell units of one item.

    A process makes one with the `name` of the run: the prefix of its keys, or the mark of its rows. Strategies with the
    same name share their stock, wherever they run.
    """

    # The name in STRATEGIES and on the command line; the file has the same.
    id: ClassVar[str]
    # What engineers should expect of it, in one sentence.
    expected: ClassVar[str]
    # Whether it must never oversell, stick or refuse what it could sell, on live hosts with good clocks.
    correct: ClassVar[bool]
    # Whether it is expected never to oversell on live hosts, though it may have other flaws. True of correct ones.
    never_oversells: ClassVar[bool] = False
    # Whether that holds for buyers of several units too: some who cannot have all of them block what others could have.
    sells_baskets: ClassVar[bool] = True
    # The faults under which it is expected to oversell, to stick or to lose units.
    breaks_under: ClassVar[frozenset[Fault]] = frozenset()
    home: ClassVar[Home] = Home.STORE
    # How long a lock of it lasts unless it is renewed or given back; 0 where it has no lock, or one without an end.
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
        """What the strategy itself believes to be left; None where it does not know."""

    @abstractmethod
    def tear_down(self) -> None:
        """Remove what `set_stock` and the attempts left behind, once no process uses it any more."""

    def close(self) -> None:  # noqa: B027 -- most have nothing to close
        """End what this process holds open for it: threads, connections."""
