"""Runs two or more buyers of one strategy, one command at a time, in an order that a schedule decides.

Each buyer is a thread. It stops before each command, each statement, each look at the clock and each sleep, and only
one buyer continues at a time, so a schedule always ends in the same way. Time is simulated: it passes when a buyer
sleeps or the schedule says so, and the leases in the store are shortened by as much. If PostgreSQL says that a buyer is
blocked by another's row lock, the other buyers may continue.
"""

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any

import psycopg
from redis.exceptions import ConnectionError as RedisConnectionError

from bench.lab.schedules.stepped_buyer import STEP_SECONDS_MAX, Killed, State, SteppedBuyer, WorkFailed
from bench.lab.schedules.traced_store import SimulatedStore, TracedCluster, TracedConnection, traced
from bench.lab.servers.lab_store import strategy_client
from bench.strategies.base.strategy import Answer, Backend, Strategy
from seckill.store.scripts import Script

# Between two questions to PostgreSQL whether a buyer is blocked there.
ASK_SECONDS = 0.001

# A schedule is not about power cuts, and a flush to disk would take longer than all the rest.
NO_FLUSH = "-c synchronous_commit=off"

# The time at which every schedule begins, by the clock of every buyer.
BEGINNING_SECONDS = 1_000_000.0

BUYERS = "ABC"


class OutOfTurn(Exception):
    """The schedule wants a buyer to continue who is blocked, killed, or done."""


@dataclass(frozen=True, slots=True)
class ServerUrls:
    """The servers for a schedule; None for those that it does not need."""

    store_url: str | None = None
    database_url: str | None = None
    cluster_url: str | None = None

    def url_of(self, backend: Backend) -> str:
        urls = {Backend.STORE: self.store_url, Backend.CLUSTER: self.cluster_url, Backend.DATABASE: self.database_url}
        url = urls[backend]
        assert url is not None, f"the schedule has no {backend}"
        return url


@dataclass(frozen=True, slots=True)
class BuyerStep:
    """One command of one buyer, and what it returned. `answer` is set if the attempt ended with it."""

    who: str
    command: tuple[Any, ...]
    seen: Any
    answer: Answer | Exception | None
    blocked: bool = False
    killed: bool = False


@dataclass(frozen=True, slots=True)
class SideEvent:
    """Something that no buyer does."""

    text: Any
    seen: Any = None


@dataclass
class Interleaver:
    """A schedule calls the methods of this: which buyer continues next, and what else happens."""

    strategy: type[Strategy]
    urls: ServerUrls
    name: str
    stock: int = 1
    units: dict[str, int] = field(default_factory=dict)
    # For runs without pauses: no lease ever ends.
    time_stands_still: bool = False
    tries_max: int | None = None
    report: Callable[[BuyerStep | SideEvent], None] = lambda event: None

    def __post_init__(self) -> None:
        self.now_seconds = BEGINNING_SECONDS
        self.buyers: dict[str, SteppedBuyer] = {}
        self.strategies: dict[str, Strategy] = {}
        self._numbers = itertools.count(1)
        # A plain client of the store, for what no buyer does.
        self.client: Any = strategy_client(self.urls.url_of(self.strategy.backend), backend=self.strategy.backend)
        self._lock_monitor: psycopg.Connection[Any] | None = None
        database: Callable[[], psycopg.Connection[Any]] | None = None
        if self.strategy.backend is Backend.DATABASE:
            url = self.urls.url_of(Backend.DATABASE)
            self._lock_monitor = psycopg.connect(url, autocommit=True)

            def database() -> psycopg.Connection[Any]:
                return psycopg.connect(url, options=NO_FLUSH)

        # Never stopped: it sets the stock, reads what is left, and cleans up.
        self.seller = self.strategy(self._never_stopped().surroundings(store=self.client, database=database), self.name)
        if self.strategy.backend is not Backend.DATABASE:
            for _name, source in scripts_of(self.strategy).values():
                # Otherwise the first buyer who uses a script would send two more commands, to load it.
                self.client.script_load(source)
        self.restart_sale(stock=self.stock)

    def restart_sale(self, *, stock: int) -> None:
        """Begin a new sale with the same buyers."""
        if self.strategy.backend is not Backend.DATABASE:  # where set_stock drops and creates the tables
            self.seller.tear_down()
        self.stock = stock
        self.seller.set_stock(stock)
        for buyer in self.buyers.values():
            buyer.answers.clear()

    # --- what a schedule calls ---

    def go(self, who: str, steps: int = 1) -> None:
        """Let a buyer run so many commands. It starts an attempt if it has not done so yet. Raises OutOfTurn."""
        for _ in range(steps):
            buyer = self.ready(who)
            if buyer.state is not State.STOPPED:
                raise OutOfTurn(f"{who} is {buyer.state}")
            self._resume(buyer)

    def finish(self, who: str) -> None:
        """Let a buyer continue to the end of its attempt. Raises OutOfTurn if it is blocked before."""
        buyer = self.ready(who)
        while buyer.state is State.STOPPED:
            self._resume(buyer)
        if buyer.state is State.RUNNING:
            raise OutOfTurn(f"{who} is blocked in the database")

    def kill(self, who: str) -> None:
        """Kill the buyer's process before its next command."""
        buyer = self.ready(who)
        command = buyer.pending
        buyer.resume(Killed())
        self.wait_for_buyers()
        self.report(BuyerStep(who=who, command=command, seen=None, answer=None, killed=True))

    def fail(self, who: str, error: Exception | None = None) -> None:
        """Raise an exception in the buyer's process instead of its next command."""
        self._resume(self.ready(who), error or WorkFailed("the work failed"))

    def lose_command(self, who: str) -> None:
        """The buyer's next command does not reach the store."""
        self.fail(who, RedisConnectionError("the store is away"))

    def lose_answer(self, who: str) -> None:
        """The buyer's next command is executed, but its answer is lost with the connection."""
        self._resume(self.ready(who), raising_after=RedisConnectionError("the answer was lost"))

    def pass_time(self, seconds: float) -> None:
        """Let time pass, for the buyers' clocks and for the leases in the store."""
        if self.time_stands_still:
            return
        self.now_seconds += seconds
        if self.strategy.backend is Backend.STORE:
            for key in self.own_keys():
                left_ms = self.client.pttl(key)
                if left_ms >= 0:
                    self.client.pexpire(key, int(left_ms - seconds * 1000))

    def clock_ahead(self, who: str, *, seconds: float) -> None:
        """From now on the buyer's clock is ahead of the others'."""
        self.buyer(who).clock_ahead_seconds = seconds

    def side_event(self, text: Any, act: Callable[[], Any] = lambda: None) -> Any:
        """Do something that no buyer does. The text describes it in the report."""
        seen = act()
        self.report(SideEvent(text=text, seen=seen))
        return seen

    def random(self, choices: Iterable[int], *, buyers: Sequence[str]) -> None:
        """Each of the buyers makes one attempt. Each choice selects one of those who can continue.

        When there are no choices left, they continue in turn.
        """
        for who in buyers:
            self.ready(who)
        turns = itertools.chain(choices, itertools.count())
        while any(self.buyers[who].state in (State.STOPPED, State.RUNNING) for who in buyers):
            stopped = [who for who in buyers if self.buyers[who].state is State.STOPPED]
            if not stopped:
                raise OutOfTurn("all buyers are blocked in the database")
            self._resume(self.buyers[stopped[next(turns) % len(stopped)]])

    # --- the result ---

    @property
    def sold(self) -> int:
        """Units of the buyers who were told that they bought them."""
        return sum(self.units.get(who, 1) * buyer.answers.count(Answer.SOLD) for who, buyer in self.buyers.items())

    def left(self) -> int | None:
        """The units that the strategy believes to be left."""
        return self.seller.left()

    def answer_of(self, who: str) -> Answer | Exception | None:
        """How the last attempt of a buyer ended."""
        answers = self.buyers[who].answers
        return answers[-1] if answers else None

    def own_keys(self) -> list[Any]:
        return sorted(self.client.scan_iter(match=f"*{self.name}*", count=1000))

    # --- the buyers ---

    def ready(self, who: str) -> SteppedBuyer:
        """The buyer, with an attempt started."""
        buyer = self.buyer(who)
        if buyer.state is State.IDLE:
            strategy, units, number = self.strategies[who], self.units.get(who, 1), next(self._numbers)
            buyer.begin(lambda: strategy.attempt(number, units))
            self.wait_for_buyers()
        return buyer

    def buyer(self, who: str) -> SteppedBuyer:
        """The buyer, who may not have started an attempt yet."""
        return self.buyers.get(who) or self._make(who)

    def wait_for_buyers(self) -> None:
        """Wait until each buyer has stopped at a command, has ended, or is blocked by another in PostgreSQL."""
        for _ in range(int(STEP_SECONDS_MAX / ASK_SECONDS)):
            running = [buyer for buyer in self.buyers.values() if buyer.state is State.RUNNING]
            settled = [buyer for buyer in running if buyer.wait_until_settled(seconds_max=ASK_SECONDS)]
            # A buyer who has just settled may have freed a row: check again who is blocked.
            if not settled and all(self._blocked(buyer) for buyer in running):
                return
        raise TimeoutError("a buyer did not come to its next step")

    def end(self) -> None:
        """End all threads and connections, and remove the data of the run."""
        for buyer in self.buyers.values():
            buyer.end()
        for strategy in self.strategies.values():
            strategy.close()
            if self.strategy.backend is not Backend.DATABASE:
                strategy.store.close()
        self.seller.tear_down()
        self.seller.close()
        if self.client is not None:
            self.client.close()
        if self._lock_monitor is not None:
            self._lock_monitor.close()

    def _resume(
        self, buyer: SteppedBuyer, raising: Exception | None = None, *, raising_after: Exception | None = None
    ) -> None:
        command = buyer.pending
        buyer.seen.clear()
        attempts = len(buyer.answers)
        buyer.resume(raising, raising_after=raising_after)
        self.wait_for_buyers()
        ended = len(buyer.answers) > attempts
        self.report(
            BuyerStep(
                who=buyer.name,
                command=command,
                seen=raising or (buyer.seen[-1] if buyer.seen else None),
                answer=buyer.answers[-1] if ended else None,
                blocked=buyer.state is State.RUNNING,
            )
        )

    def _blocked(self, buyer: SteppedBuyer) -> bool:
        if self._lock_monitor is None or buyer.connection is None:
            return False
        pid = buyer.connection.info.backend_pid
        row = self._lock_monitor.execute("SELECT cardinality(pg_blocking_pids(%s))", [pid]).fetchone()
        return row is not None and row[0] > 0

    def _make(self, who: str) -> SteppedBuyer:
        buyer = SteppedBuyer(who, pass_time=self.pass_time, now=lambda: self.now_seconds)
        self.buyers[who] = buyer
        url, backend = self.urls.url_of(self.strategy.backend), self.strategy.backend
        store: Any = None
        database: Callable[[], psycopg.Connection[Any]] | None = None
        if backend is Backend.STORE:
            store = traced(SimulatedStore, buyer, url)
        elif backend is Backend.CLUSTER:
            store = traced(TracedCluster, buyer, url)
        else:

            def database() -> psycopg.Connection[Any]:
                return TracedConnection.traced_by(buyer, url, options=NO_FLUSH)

        strategy = self.strategy(buyer.surroundings(store=store, database=database), self.name)
        if self.tries_max is not None:
            strategy.tries_max = self.tries_max  # type: ignore[attr-defined]
        self.strategies[who] = strategy
        return buyer

    def _never_stopped(self) -> SteppedBuyer:
        """A buyer without a thread, whose surroundings have the simulated clock and stop nobody."""
        buyer = SteppedBuyer("seller", pass_time=self.pass_time, now=lambda: self.now_seconds)
        buyer.end()
        return buyer


def scripts_of(strategy: type[Strategy]) -> dict[str, tuple[str, str]]:
    """Name and source of the scripts in the strategy's own files, by their hashes."""
    found: dict[str, tuple[str, str]] = {}
    for ancestor in strategy.__mro__:
        for name, value in vars(sys.modules[ancestor.__module__]).items():
            source = value.source if isinstance(value, Script) else value
            if isinstance(source, str) and "redis.call" in source:
                found[sha1(source.encode(), usedforsecurity=False).hexdigest()] = (name.lower(), source)
    return found


@contextmanager
def interleaved(strategy: type[Strategy], urls: ServerUrls, **options: Any) -> Iterator[Interleaver]:
    interleaver = Interleaver(strategy=strategy, urls=urls, **options)
    try:
        yield interleaver
    finally:
        interleaver.end()
