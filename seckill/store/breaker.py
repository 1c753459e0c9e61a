"""A circuit breaker for each server: threads do not queue for one that is silent."""

import threading
import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

from redis import Redis

# How long calls fail at once after a store did not answer in time. Then one call tries again.
PROBE_INTERVAL_SECONDS = 0.25
# The longest that a call may take (CACHES in shop/settings.py). After that, another one may try.
PROBE_SECONDS_MAX = 2.0


class CircuitBreaker:
    """After a call that timed out, calls fail at once, so that threads do not queue for a silent server.

    One call at a time may try the server, `probe_interval_seconds` after the last one failed. Any answer, even an
    error, ends it. One per address and process; used by all threads.
    """

    def __init__(
        self, *, probe_interval_seconds: float, probe_seconds_max: float, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._probe_interval_seconds = probe_interval_seconds
        self._probe_seconds_max = probe_seconds_max
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._open = False
        self._next_probe_s = 0.0

    def may_call(self) -> bool:
        """Whether the caller may ask the server."""
        if not self._open:
            return True
        with self._lock:
            now_s = self._clock_s()
            if self._open and now_s < self._next_probe_s:
                return False
            # This caller tries. If its thread dies, another one may later.
            self._next_probe_s = now_s + self._probe_seconds_max
            return True

    def timed_out(self) -> None:
        with self._lock:
            self._open = True
            self._next_probe_s = self._clock_s() + self._probe_interval_seconds

    def answered(self) -> None:
        self._open = False


# One for each pool of connections, that is, for each server.
_breakers: WeakKeyDictionary[object, CircuitBreaker] = WeakKeyDictionary()


def breaker_of(client: Redis) -> CircuitBreaker:
    """The breaker of the server that this client asks."""
    breaker = _breakers.get(client.connection_pool)
    if breaker is None:
        new = CircuitBreaker(probe_interval_seconds=PROBE_INTERVAL_SECONDS, probe_seconds_max=PROBE_SECONDS_MAX)
        # Several threads may come here at once: all get the first one's breaker.
        breaker = _breakers.setdefault(client.connection_pool, new)
    return breaker
