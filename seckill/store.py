"""The connection to the reservation store, and what went wrong when it does not answer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from django_redis import get_redis_connection
from redis import Redis
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ConnectionError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TimeoutError,
)

from seckill.store_failures import Cause, report_failure

# How long nobody asks a store that did not answer in time. Then one call tries again.
PROBE_INTERVAL_SECONDS = 0.25
# The longest that a call may take (CACHES in shop/settings.py). Only then may another one try.
PROBE_SECONDS_MAX = 2.0


class StoreUnreachable(Exception):
    """The reservation store did not answer, or refused. A call that was under way may or may not have taken effect."""

    def __init__(self, message: str = "", *, cause: Cause = Cause.UNREACHABLE) -> None:
        super().__init__(message)
        self.cause = cause


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


# One for each pool of connections, that is, for each address of a store.
_breakers: WeakKeyDictionary[object, CircuitBreaker] = WeakKeyDictionary()


def breaker_of(client: Redis) -> CircuitBreaker:
    # The client of a Cluster has a pool for each node and lives as long as they do.
    address = getattr(client, "connection_pool", client)
    breaker = _breakers.get(address)
    if breaker is None:
        new = CircuitBreaker(probe_interval_seconds=PROBE_INTERVAL_SECONDS, probe_seconds_max=PROBE_SECONDS_MAX)
        # Of several threads that come here at once, all get the first one's.
        breaker = _breakers.setdefault(address, new)
    return breaker


@contextmanager
def store() -> Iterator[Redis]:
    """The reservation store's client. Inside the `with`, every RedisError becomes StoreUnreachable with its cause."""
    client = get_redis_connection("seckill")
    breaker = breaker_of(client)
    if not breaker.may_call():
        raise StoreUnreachable("the store did not answer in time a moment ago", cause=Cause.TIMEOUT)
    try:
        yield client
    except RedisError as error:
        cause = cause_of(error)
        if cause is Cause.TIMEOUT:
            breaker.timed_out()
        else:
            breaker.answered()
        if cause is Cause.READONLY and hasattr(client, "connection_pool"):
            # The primary was demoted and its connections live on. New ones find the new primary.
            client.connection_pool.disconnect(inuse_connections=False)
        report_failure(cause, str(error))
        raise StoreUnreachable(str(error), cause=cause) from error
    breaker.answered()


def cause_of(error: RedisError) -> Cause:
    """The cause in one word. The order matters: several of these are subclasses of ConnectionError."""
    if isinstance(error, TimeoutError):
        return Cause.TIMEOUT
    if isinstance(error, AuthenticationError | NoPermissionError):
        return Cause.PASSWORD
    if isinstance(error, BusyLoadingError):
        return Cause.LOADING
    if isinstance(error, ConnectionError):
        return Cause.UNREACHABLE
    if isinstance(error, OutOfMemoryError):
        return Cause.FULL
    if isinstance(error, ReadOnlyError):
        return Cause.READONLY
    return Cause.SCRIPT_ERROR
