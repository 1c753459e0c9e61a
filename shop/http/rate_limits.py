"""Limits on how often something may be done, counted in the cache server by the library `limits`.

A moving window, changed by one script on the server: of 200 parallel calls under a limit of 5, exactly 5 pass.
Rates are written as that library reads them: "5/5minutes", "30/minute". While the cache server is away, each process
counts alone: a buyer is not turned away by an outage, and nobody is without a bound.
"""

import math
import threading
import time
from functools import lru_cache

import structlog
from django_redis import get_redis_connection
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis import ConnectionPool

log = structlog.get_logger(__name__)

# After a failure the cache server is not asked for this long: each failure may cost a timeout of a second.
SILENCE_SECONDS = 5.0


class LimitReached(Exception):
    """Refused: too many attempts. Nothing was counted for this one."""

    def __init__(self, *, retry_after_seconds: int) -> None:
        super().__init__(retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


def take(*, action: str, rate: str, key: str) -> None:
    """Count one attempt at `action` by `key`, for example a client's address. Raises LimitReached."""
    item = rate_of(rate)
    try:
        wait_seconds = _cache_server.take(item, action, key)
    except CacheAway:
        wait_seconds = take_from(_of_this_process(), item, action, key)
    if wait_seconds:
        raise LimitReached(retry_after_seconds=wait_seconds)


def forget(*, action: str, rate: str, key: str) -> None:
    """Start counting anew for `key`."""
    item = rate_of(rate)
    _of_this_process().clear(item, action, key)
    _cache_server.forget(item, action, key)


@lru_cache(maxsize=64)
def rate_of(text: str) -> RateLimitItem:
    return parse(text)


def take_from(limiter: MovingWindowRateLimiter, item: RateLimitItem, action: str, key: str) -> int:
    """0 if the attempt was counted; otherwise the seconds until there is room for one."""
    if limiter.hit(item, action, key):
        return 0
    left_seconds = limiter.get_window_stats(item, action, key).reset_time - time.time()
    return min(max(1, math.ceil(left_seconds)), item.get_expiry())


class CacheAway(Exception):
    """The cache server does not answer, or did not a moment ago."""


class CacheServer:
    """The limits in the cache server. Says once in the log that it is away, and once that it is back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_away = False
        self._silent_until_s = 0.0

    def take(self, item: RateLimitItem, action: str, key: str) -> int:
        """As `take_from`. Raises CacheAway."""
        if time.monotonic() < self._silent_until_s:
            raise CacheAway
        try:
            wait_seconds = take_from(_of_all_processes(), item, action, key)
        except StorageError as error:
            self._note(error)
            raise CacheAway from error
        self._note(None)
        return wait_seconds

    def forget(self, item: RateLimitItem, action: str, key: str) -> None:
        if time.monotonic() < self._silent_until_s:
            return
        try:
            _of_all_processes().clear(item, action, key)
        except StorageError as error:
            self._note(error)

    def _note(self, error: StorageError | None) -> None:
        with self._lock:
            was_away, self._is_away = self._is_away, error is not None
            self._silent_until_s = time.monotonic() + SILENCE_SECONDS if error else 0.0
        if error and not was_away:
            log.error("limits_not_counted", error=repr(error.storage_error))
        elif was_away and not error:
            log.warning("limits_counted_again")


_cache_server = CacheServer()


def _of_all_processes() -> MovingWindowRateLimiter:
    """Uses the pool of Django's cache, and with it its timeouts and its policy never to repeat a command."""
    return _in_pool(get_redis_connection("default").connection_pool)


@lru_cache(maxsize=4)
def _in_pool(pool: ConnectionPool) -> MovingWindowRateLimiter:
    # With a pool given, the address is used only to see that it is one of Redis.
    return MovingWindowRateLimiter(RedisStorage("redis://", connection_pool=pool, wrap_exceptions=True))


@lru_cache(maxsize=1)
def _of_this_process() -> MovingWindowRateLimiter:
    return MovingWindowRateLimiter(MemoryStorage())
