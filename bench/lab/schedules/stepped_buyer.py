"""A buyer who stops before each command until the interleaver lets it continue. Each is a thread."""

import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import psycopg

from bench.lab.schedules.traced_store import Tracer
from bench.strategies.base.strategy import Answer, Surroundings

# A step takes less than a millisecond; this bound is for a very busy machine, so that nothing hangs for ever.
STEP_SECONDS_MAX = 30.0

# The steps of a buyer that are no commands or statements.
CLOCK, SLEEP = "clock", "sleep"


class Killed(BaseException):
    """The buyer's process was killed. No `except Exception` catches this, and no command of a `finally` is sent."""


class WorkFailed(Exception):
    """An exception in the middle of the buyer's work."""


class State(StrEnum):
    IDLE = "idle"
    STOPPED = "stopped"
    RUNNING = "running"
    DEAD = "dead"


class SteppedBuyer(Tracer):
    """One buyer and its thread."""

    def __init__(self, name: str, *, pass_time: Callable[[float], None], now: Callable[[], float]) -> None:
        self.name = name
        self.state = State.IDLE
        self.pending: tuple[Any, ...] = ()
        self.seen: list[Any] = []
        self.answers: list[Answer | Exception] = []
        self.clock_ahead_seconds = 0.0
        self.connection: psycopg.Connection[Any] | None = None
        self.changed = threading.Condition()
        self._pass_time = pass_time
        self._now = now
        self._job: Callable[[], Answer] | None = None
        self._raises: BaseException | None = None
        self._raises_after: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"buyer {name}", daemon=True)
        self._thread.start()

    # --- called by the interleaver ---

    def begin(self, job: Callable[[], Answer]) -> None:
        """Start an attempt. The thread stops before its first command."""
        with self.changed:
            assert self.state is State.IDLE, f"{self.name} is {self.state}"
            self._job, self.state = job, State.RUNNING
            self.changed.notify_all()

    def resume(self, raising: BaseException | None = None, *, raising_after: Exception | None = None) -> None:
        """Let the buyer send its pending command, or raise an exception there instead of it or of its answer."""
        with self.changed:
            assert self.state is State.STOPPED, f"{self.name} is {self.state}"
            self._raises, self._raises_after, self.state = raising, raising_after, State.RUNNING
            self.changed.notify_all()

    def wait_until_settled(self, *, seconds_max: float = STEP_SECONDS_MAX) -> bool:
        """Whether the thread stops again, or ends its attempt, within this time."""
        with self.changed:
            return self.changed.wait_for(lambda: self.state is not State.RUNNING, timeout=seconds_max)

    def end(self) -> None:
        if self.state is State.STOPPED:
            self.resume(Killed())
            self.wait_until_settled()
        with self.changed:
            self.state = State.DEAD
            self.changed.notify_all()
        self._thread.join(STEP_SECONDS_MAX)

    # --- called by the buyer's thread: the tracer of its clients, its clock and its sleep ---

    def step(self, args: tuple[Any, ...]) -> None:
        if threading.current_thread() is not self._thread:
            return  # a watchdog, or the interleaver itself
        with self.changed:
            if self.state is State.DEAD:
                raise Killed
            self.pending, self.state = args, State.STOPPED
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.state is not State.STOPPED)
            raising, self._raises = self._raises, None
            if isinstance(raising, Killed):
                self.state = State.DEAD
        if raising is not None:
            raise raising

    def saw(self, answer: Any) -> None:
        if threading.current_thread() is not self._thread:
            return
        raising, self._raises_after = self._raises_after, None
        self.seen.append(raising or answer)
        if raising is not None:
            raise raising

    def connected(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def waited(self, seconds: float) -> None:
        self._pass_time(seconds)

    def clock(self) -> float:
        self.step((CLOCK,))
        seconds = self._now() + self.clock_ahead_seconds
        self.saw(round(seconds, 3))
        return seconds

    def sleep(self, seconds: float) -> None:
        self.step((SLEEP, seconds))
        self._pass_time(seconds)
        self.saw(None)

    def surroundings(self, *, store: Any, database: Callable[[], psycopg.Connection[Any]] | None) -> Surroundings:
        return Surroundings(store=store, database=database, clock=self.clock, sleep=self.sleep)

    def _run(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self._job is not None or self.state is State.DEAD)
                job, self._job = self._job, None
            if job is None:
                return
            try:
                answer: Answer | Exception = job()
            except Killed:
                with self.changed:
                    self.state = State.DEAD
                    self.changed.notify_all()
                return
            except Exception as error:
                answer = error
            with self.changed:
                self.answers.append(answer)
                self.state = State.IDLE
                self.changed.notify_all()
