"""Bounds how many threads of a web process wait for a payment provider that is slow."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from orders.payments.provider.interface import ProviderUnreachable

# Of the six threads that orders have (web/lanes.py). The others serve people who need no provider.
CALLS_MAX = 3
# A provider that takes longer is slow: further calls are then refused at once.
SLOW_SECONDS = 0.25


class TooManyCalls(ProviderUnreachable):
    """So many calls wait for a slow provider that this one was not made."""


class CallBound:
    """At most `calls_max` calls at a time. Others wait while all are quick, and are refused when one is slow."""

    def __init__(self, *, calls_max: int, slow_seconds: float) -> None:
        self._calls_max = calls_max
        self.slow_seconds = slow_seconds
        self._began_s: dict[int, float] = {}
        self._changed = threading.Condition()
        self._numbers = count()

    @contextmanager
    def one_call(self) -> Iterator[None]:
        """Make a call inside. Raises TooManyCalls."""
        with self._changed:
            while len(self._began_s) >= self._calls_max:
                patience_seconds = min(self._began_s.values()) + self.slow_seconds - time.monotonic()
                if patience_seconds <= 0:
                    raise TooManyCalls("too many calls wait for the payment provider")
                self._changed.wait(patience_seconds)
            number = next(self._numbers)
            self._began_s[number] = time.monotonic()
        try:
            yield
        finally:
            with self._changed:
                del self._began_s[number]
                self._changed.notify()


web_calls = CallBound(calls_max=CALLS_MAX, slow_seconds=SLOW_SECONDS)
