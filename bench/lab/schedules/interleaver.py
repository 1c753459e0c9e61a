"""Two or more buyers of one strategy, one command at a time, in an order that a schedule decides.

Each buyer is a thread with clients of its own that stop before each command, each statement, each look at the clock and
each sleep. Only one goes on at a time, so that a schedule has one outcome. Time is made here too: it passes when
somebody sleeps or the schedule says so, and the leases in the store run out with it. Who is blocked inside PostgreSQL,
by the row lock of another, is recognised by asking PostgreSQL, and the others are let on.
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

from bench.lab.schedules.stepped_buyer import STEP_SECONDS_MAX, Killed, Puppet, State, WorkFailed
from bench.lab.schedules.traced_store import WatchedCluster, WatchedConnection, WatchedStore
from bench.lab.servers.strategy_client import client_of
from bench.strategies.base.strategy import Answer, Home, Strategy
from seckill.scripts import Script

# Between two questions to PostgreSQL whether a buyer is blocked there.
ASK_SECONDS = 0.001

# A schedule is about who sees what, not about power cuts, and a flush of the disk takes longer than all the rest.
NO_FLUSH = "-c synchronous_commit=off"

# The day on which every schedule begins, by the clock of every buyer.
BEGINNING_SECONDS = 1_000_000.0

BUYERS = "ABC"


class OutOfTurn(Exception):
    """The schedule lets somebody go who is blocked, dead, or done."""


@dataclass(frozen=True, slots=True)
class Place:
    """The servers that a schedule is played on; None for those that no strategy of it needs."""

    store_url: str | None = None
    database_url: str | None = None
    cluster_url: str | None = None

    def url_of(self, home: Home) -> str:
        url = {Home.STORE: self.store_url, Home.CLUSTER: self.cluster_url, Home.DATABASE: self.database_url}[home]
        assert url is not None, f"no {home} to play on"
        return url


@dataclass(frozen=True, slots=True)
class Done:
    """One command of one buyer, and what came of it. `answer` where its attempt ended with it."""

    who: str
    command: tuple[Any, ...]
    seen: Any
    answer: Answer | Exception | None
    blocked: bool = False
    killed: bool = False


@dataclass(frozen=True, slots=True)
class Aside:
    """Something that happens beside the buyers."""

    text: Any
    seen: Any = None


@dataclass
class Interleaver:
    """The director. `schedule` is made of calls of its methods: who goes next, and what else happens."""

    strategy: type[Strategy]
    place: Place
    name: str
    stock: int = 1
    units: dict[str, int] = field(default_factory=dict)
    lease_seconds: float | None = None
    # A world of live hosts: nobody is ever away for as long as a lease, so time may as well stand still.
    time_stands_still: bool = False
    tries_max: int | None = None
    report: Callable[[Done | Aside], None] = lambda event: None

    def __post_init__(self) -> None:
        self.now_seconds = BEGINNING_SECONDS
        self.puppets: dict[str, Puppet] = {}
        self.strategies: dict[str, Strategy] = {}
        self._numbers = itertools.count(1)
        self._client: Any = client_of(self.place.url_of(self.strategy.home), home=self.strategy.home)
        self._asking: psycopg.Connection[Any] | None = None
        database: Callable[[], psycopg.Connection[Any]] | None = None
        if self.strategy.home is Home.DATABASE:
            url = self.place.url_of(Home.DATABASE)
            self._asking = psycopg.connect(url, autocommit=True)

            def database() -> psycopg.Connection[Any]:
                return psycopg.connect(url, options=NO_FLUSH)

        # Not on a string: it sets the stock, reads what is left, and cleans up.
        self.shopkeeper = self.strategy(
            Puppet.surroundings(self._nobody(), store=self._client, database=database, lease_seconds=None), self.name
        )
        if self.strategy.home is not Home.DATABASE:
            for _name, source in scripts_of(self.strategy).values():
                # Else the first to use a script would have two commands more, to teach it to the store.
                self._client.script_load(source)
        self.begin_anew(stock=self.stock)

    def begin_anew(self, *, stock: int) -> None:
        """The same buyers, a new sale."""
        if self.strategy.home is not Home.DATABASE:  # there, setting the stock makes the tables anew
            self.shopkeeper.tear_down()
        self.stock = stock
        self.shopkeeper.set_stock(stock)
        for puppet in self.puppets.values():
            puppet.answers.clear()

    # --- what a schedule says ---

    def go(self, who: str, steps: int = 1) -> None:
        """Let a buyer do so many commands; it begins its attempt where it has none under way. Raises OutOfTurn."""
        for _ in range(steps):
            puppet = self.ready(who)
            if puppet.state is not State.STOPPED:
                raise OutOfTurn(f"{who} is {puppet.state}")
            self._let_go(puppet)

    def finish(self, who: str) -> None:
        """Let a buyer go on to the end of its attempt. Raises OutOfTurn where it comes to none."""
        puppet = self.ready(who)
        while puppet.state is State.STOPPED:
            self._let_go(puppet)
        if puppet.state is State.RUNNING:
            raise OutOfTurn(f"{who} is blocked in the database")

    def kill(self, who: str) -> None:
        """The buyer's process is killed before its next command."""
        puppet = self.ready(who)
        command = puppet.pending
        puppet.let_go(Killed())
        self.settle()
        self.report(Done(who=who, command=command, seen=None, answer=None, killed=True))

    def fail(self, who: str, error: Exception | None = None) -> None:
        """An exception is raised in the buyer's process instead of its next command."""
        self._let_go(self.ready(who), error or WorkFailed("the work failed"))

    def lose_command(self, who: str) -> None:
        """The buyer's next command does not reach the store."""
        self.fail(who, RedisConnectionError("the store is away"))

    def lose_answer(self, who: str) -> None:
        """The buyer's next command is done, but its answer is lost with the connection."""
        self._let_go(self.ready(who), raising_after=RedisConnectionError("the answer was lost"))

    def pass_time(self, seconds: float) -> None:
        """Let time pass, for the buyers' clocks and for the leases in the store."""
        if self.time_stands_still:
            return
        self.now_seconds += seconds
        if self.strategy.home is Home.STORE:
            for key in self.own_keys():
                left_ms = self._client.pttl(key)
                if left_ms >= 0:
                    self._client.pexpire(key, int(left_ms - seconds * 1000))

    def clock_ahead(self, who: str, *, seconds: float) -> None:
        """From now on the buyer's clock is ahead of the others'."""
        self.puppet(who).clock_ahead_seconds = seconds

    def aside(self, text: Any, act: Callable[[], Any] = lambda: None) -> Any:
        """Something happens beside the buyers; its text is for the report."""
        seen = act()
        self.report(Aside(text=text, seen=seen))
        return seen

    def random(self, choices: Iterable[int], *, buyers: Sequence[str]) -> None:
        """Each of the buyers makes one attempt. A choice says who goes on, of those who can; in the end all in turn."""
        for who in buyers:
            self.ready(who)
        turns = itertools.chain(choices, itertools.count())
        while any(self.puppets[who].state in (State.STOPPED, State.RUNNING) for who in buyers):
            stopped = [who for who in buyers if self.puppets[who].state is State.STOPPED]
            if not stopped:
                raise OutOfTurn("everybody is blocked in the database")
            self._let_go(self.puppets[stopped[next(turns) % len(stopped)]])

    # --- what came of it ---

    @property
    def sold(self) -> int:
        """Units of the buyers who were told that they have bought."""
        return sum(self.units.get(who, 1) * puppet.answers.count(Answer.SOLD) for who, puppet in self.puppets.items())

    def left(self) -> int | None:
        """What the strategy believes to be left."""
        return self.shopkeeper.left()

    def answer_of(self, who: str) -> Answer | Exception | None:
        """How the last attempt of a buyer ended."""
        answers = self.puppets[who].answers
        return answers[-1] if answers else None

    def own_keys(self) -> list[Any]:
        """The keys of this run."""
        return sorted(self._client.scan_iter(match=f"*{self.name}*", count=1000))

    @property
    def client(self) -> Any:
        """A plain client of the store, for what happens beside the buyers."""
        return self._client

    # --- the strings ---

    def ready(self, who: str) -> Puppet:
        """The puppet, at its first command at least."""
        puppet = self.puppet(who)
        if puppet.state is State.IDLE:
            strategy, units, number = self.strategies[who], self.units.get(who, 1), next(self._numbers)
            puppet.begin(lambda: strategy.attempt(number, units))
            self.settle()
        return puppet

    def puppet(self, who: str) -> Puppet:
        """The puppet, which need not have come yet."""
        return self.puppets.get(who) or self._make(who)

    def settle(self) -> None:
        """Wait until each buyer stands at a command, has ended, or is blocked by another inside PostgreSQL."""
        for _ in range(int(STEP_SECONDS_MAX / ASK_SECONDS)):
            running = [puppet for puppet in self.puppets.values() if puppet.state is State.RUNNING]
            settled = [puppet for puppet in running if puppet.wait_until_settled(seconds_max=ASK_SECONDS)]
            # One who has just settled may have freed a row: whoever was blocked before is asked again.
            if not settled and all(self._blocked(puppet) for puppet in running):
                return
        raise TimeoutError("a buyer did not come to its next step")

    def end(self) -> None:
        """Let nobody go on, and leave nothing behind."""
        for puppet in self.puppets.values():
            puppet.end()
        for strategy in self.strategies.values():
            strategy.close()
            if self.strategy.home is not Home.DATABASE:
                strategy.store.close()
        self.shopkeeper.tear_down()
        self.shopkeeper.close()
        if self._client is not None:
            self._client.close()
        if self._asking is not None:
            self._asking.close()

    def _let_go(
        self, puppet: Puppet, raising: Exception | None = None, *, raising_after: Exception | None = None
    ) -> None:
        command = puppet.pending
        puppet.seen.clear()
        attempts = len(puppet.answers)
        puppet.let_go(raising, raising_after=raising_after)
        self.settle()
        ended = len(puppet.answers) > attempts
        self.report(
            Done(
                who=puppet.name,
                command=command,
                seen=raising or (puppet.seen[-1] if puppet.seen else None),
                answer=puppet.answers[-1] if ended else None,
                blocked=puppet.state is State.RUNNING,
            )
        )

    def _blocked(self, puppet: Puppet) -> bool:
        if self._asking is None or puppet.connection is None:
            return False
        pid = puppet.connection.info.backend_pid
        row = self._asking.execute("SELECT cardinality(pg_blocking_pids(%s))", [pid]).fetchone()
        return row is not None and row[0] > 0

    def _make(self, who: str) -> Puppet:
        puppet = Puppet(who, pass_time=self.pass_time, now=lambda: self.now_seconds)
        self.puppets[who] = puppet
        url, home = self.place.url_of(self.strategy.home), self.strategy.home
        store: Any = None
        database: Callable[[], psycopg.Connection[Any]] | None = None
        if home is Home.STORE:
            store = WatchedStore.held_by(puppet, url)
        elif home is Home.CLUSTER:
            store = WatchedCluster.held_by(puppet, url)
        else:

            def database() -> psycopg.Connection[Any]:
                return WatchedConnection.held_by(puppet, url, options=NO_FLUSH)

        strategy = self.strategy(
            puppet.surroundings(store=store, database=database, lease_seconds=self.lease_seconds), self.name
        )
        if self.tries_max is not None:
            strategy.tries_max = self.tries_max  # type: ignore[attr-defined]
        self.strategies[who] = strategy
        return puppet

    def _nobody(self) -> Puppet:
        """Whoever is nobody's thread is never stopped."""
        nobody = Puppet("nobody", pass_time=self.pass_time, now=lambda: self.now_seconds)
        nobody.end()
        return nobody


def scripts_of(strategy: type[Strategy]) -> dict[str, tuple[str, str]]:
    """The scripts in the strategy's own files, by their hashes: name and source."""
    found: dict[str, tuple[str, str]] = {}
    for ancestor in strategy.__mro__:
        for name, value in vars(sys.modules[ancestor.__module__]).items():
            source = value.source if isinstance(value, Script) else value
            if isinstance(source, str) and "redis.call" in source:
                found[sha1(source.encode(), usedforsecurity=False).hexdigest()] = (name.lower(), source)
    return found


@contextmanager
def interleaved(strategy: type[Strategy], place: Place, **options: Any) -> Iterator[Interleaver]:
    """An interleaver for the length of a `with`."""
    interleaver = Interleaver(strategy=strategy, place=place, **options)
    try:
        yield interleaver
    finally:
        interleaver.end()
