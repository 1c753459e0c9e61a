"""One server that a board asks: what it says, or that it does not answer. Readers hardly wait for a silent server."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from django.db import Error as DatabaseError

from shop.background.bounded_thread import BoundedThread
from shop.background.outages import AWAY, go_on, wait
from shop.times.timestamps import now_ms

T = TypeVar("T")

# A server is busy for a board for at most this part of the time.
BUSY_SHARE_MAX = 0.1
REST_SECONDS_MAX = 10.0
# How long a server is waited for that was silent the last time. If its answer comes later, the next reader gets it.
AWAY_PATIENCE_SECONDS = 0.1


class Source(Generic[T]):
    """`name` is for the log. `as_of_ms` is when it last answered; None if it never has."""

    def __init__(self, name: str, thread: BoundedThread, *, rest_seconds: float = 0.0) -> None:
        """After an answer it is not asked for `rest_seconds`, and for longer if the answer took long."""
        self.name = name
        self.is_up = True
        self.as_of_ms: int | None = None
        self._thread = thread
        self._rest_seconds = rest_seconds
        self._asked: Future[tuple[T, float]] | None = None
        self._ask_again_s = 0.0

    def ask(self, read: Callable[[], T]) -> None:
        """Ask, unless the answer to an earlier question is still to come, or the server must rest."""
        if self._asked is None and time.monotonic() >= self._ask_again_s:
            self._asked = self._thread.begin(lambda: timed(read))

    def answer(self, *, until_s: float) -> T | None:
        """What it says, if it does before `until_s` of the monotonic clock. None: there is nothing new."""
        asked = self._asked
        if asked is None:
            return None
        work = self.name
        patience_seconds = max(until_s - time.monotonic(), 0) if self.is_up else AWAY_PATIENCE_SECONDS
        try:
            found, seconds = asked.result(timeout=patience_seconds)
        except (DatabaseError, TimeoutError, *AWAY) as error:
            if self.is_up or asked.done():
                wait(work, error)
            self.is_up = False
            return None
        finally:
            if asked.done():
                self._asked = None
        go_on(work)
        self.is_up, self.as_of_ms = True, now_ms()
        rest_seconds = max(seconds / BUSY_SHARE_MAX - seconds, self._rest_seconds)
        self._ask_again_s = time.monotonic() + min(rest_seconds, REST_SECONDS_MAX)
        return found

    @property
    def state(self) -> dict[str, bool | int | None]:
        return {"up": self.is_up, "as_of_ms": self.as_of_ms}


def timed(read: Callable[[], T]) -> tuple[T, float]:
    began_s = time.monotonic()
    return read(), time.monotonic() - began_s
