"""Limits on how often something may be done, counted in the cache server by the library `limits`.

A moving window, changed by one script on the server: of 200 parallel calls under a limit of 5, exactly 5 pass.
Rates are written as that library reads them: "5/5minutes", "30/minute". While the cache server is away, each process
counts alone: a buyer is not turned away by an outage, and nobody is without a bound.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

import structlog
from django_redis import get_redis_connection
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter
from redis import ConnectionPool, RedisError

log = structlog.get_logger(__name__)

# After a failure the cache server is not asked for this long: each failure may cost a timeout of a second.
SILENCE_SECONDS = 5.0
# A process that counts alone keeps so many keys. The library never forgets one, and looks at all at each attempt.
OWN_KEYS_MAX = 10_000


class LimitReached(Exception):
    """Refused: too many attempts. Nothing was counted for this one."""

    def __init__(self, *, retry_after_seconds: int) -> None:
        super().__init__(retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class Limiters:
    """`moving` refuses what is too much and does not count it; `fixed` counts all, and begins anew after its time."""

    moving: MovingWindowRateLimiter
    fixed: FixedWindowRateLimiter


Answer = TypeVar("Answer")
# Asked of the limiters of the cache server, or of this process. Most answer the seconds to wait; 0 if there is room.
Question = Callable[[Limiters], Answer]


def take(*, action: str, rate: str, key: str) -> None:
    """Count one attempt at `action` by `key`, for example a client's address. Raises LimitReached."""
    item = rate_of(rate)
    if seconds := ask(lambda limiters: take_from(limiters.moving, item, action, key)):
        raise LimitReached(retry_after_seconds=seconds)


@dataclass(frozen=True, slots=True)
class Limit:
    """How often `key` may attempt `action`."""

    action: str
    rate: str
    key: str


def take_all(*limits: Limit) -> None:
    """Count one attempt against each limit, or against none where one of them has no room. Raises LimitReached.

    So a buyer whose network has reached its limit does not use up their own, nor the other way round.
    """
    for limit in limits[1:]:
        if seconds := ask(partial(seconds_until_room, limit)):
            raise LimitReached(retry_after_seconds=seconds)
    for limit in limits:
        take(action=limit.action, rate=limit.rate, key=limit.key)


def add(*, action: str, rate: str, key: str, cost: int) -> None:
    """Count something that has happened, `cost` times. `wait_seconds` says when that is too much."""
    item = rate_of(rate)
    ask(lambda limiters: int(not limiters.fixed.hit(item, action, key, cost=cost)))


def distinct(who: str, *limits: Limit) -> list[int]:
    """Count `who` once for each limit, and say how many different ones were counted since its window began.

    One round trip, and 12 kB at most for each limit: the cache server keeps a HyperLogLog. It is exact for a handful
    and within 2% (two standard errors) for any number.
    """
    try:
        return _cache_server.ask(lambda _limiters: distinct_of_all_processes(who, limits))
    except CacheAway:
        return [distinct_of_this_process(who, limit) for limit in limits]


def wait_seconds(*, action: str, rate: str, key: str) -> int:
    """How long `key` must wait, by what `add` has counted; 0 if there is room. Counts nothing."""
    item = rate_of(rate)

    def left(limiters: Limiters) -> int:
        if limiters.fixed.test(item, action, key):
            return 0
        return seconds_until(limiters.fixed.get_window_stats(item, action, key).reset_time, item)

    return ask(left)


def count_of(*, action: str, rate: str, key: str) -> int:
    """How many attempts at `action` by `key` count now."""
    item = rate_of(rate)
    return ask(lambda limiters: item.amount - limiters.moving.get_window_stats(item, action, key).remaining)


def forget(*, action: str, rate: str, key: str) -> None:
    """Start counting anew for `key`."""
    item = rate_of(rate)

    def clear(limiters: Limiters) -> int:
        limiters.moving.clear(item, action, key)
        return 0

    clear(_of_this_process())
    ask(clear)


def ask(question: Question[int]) -> int:
    try:
        return _cache_server.ask(question)
    except CacheAway:
        return question(bounded_of_this_process())


@lru_cache(maxsize=64)
def rate_of(text: str) -> RateLimitItem:
    return parse(text)


def take_from(limiter: MovingWindowRateLimiter, item: RateLimitItem, action: str, key: str) -> int:
    """0 if the attempt was counted; otherwise the seconds until there is room for one."""
    if limiter.hit(item, action, key):
        return 0
    return seconds_until(limiter.get_window_stats(item, action, key).reset_time, item)


def seconds_until_room(limit: Limit, limiters: Limiters) -> int:
    """0 if there is room for an attempt."""
    item = rate_of(limit.rate)
    window = limiters.moving.get_window_stats(item, limit.action, limit.key)
    return seconds_until(window.reset_time, item) if window.remaining <= 0 else 0


def seconds_until(reset_time_s: float, item: RateLimitItem) -> int:
    return min(max(1, math.ceil(reset_time_s - time.time())), item.get_expiry())


def distinct_of_all_processes(who: str, limits: Sequence[Limit]) -> list[int]:
    pipeline = get_redis_connection("default").pipeline()
    for limit in limits:
        key = f"distinct:{limit.action}:{limit.key}"
        pipeline.pfadd(key, who)
        pipeline.expire(key, rate_of(limit.rate).get_expiry(), nx=True)
        pipeline.pfcount(key)
    try:
        return [int(count) for count in pipeline.execute()[2::3]]
    except RedisError as error:
        raise StorageError(error) from error


def distinct_of_this_process(who: str, limit: Limit) -> int:
    item, limiter = rate_of(limit.rate), bounded_of_this_process().fixed
    once = type(item)(1, item.multiples)
    if limiter.hit(once, limit.action, limit.key, who):
        limiter.hit(item, limit.action, limit.key)
    return item.amount - limiter.get_window_stats(item, limit.action, limit.key).remaining


def bounded_of_this_process() -> Limiters:
    """They begin anew where they have too many keys."""
    storage: Any = _of_this_process().moving.storage
    if len(storage.events) + len(storage.storage) > OWN_KEYS_MAX:
        _of_this_process.cache_clear()
    return _of_this_process()


class CacheAway(Exception):
    """The cache server does not answer, or did not a moment ago."""


class CacheServer:
    """The limits in the cache server. Says once in the log that it is away, and once that it is back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_away = False
        self._silent_until_s = 0.0

    def ask(self, question: Question[Answer]) -> Answer:
        """Raises CacheAway."""
        if time.monotonic() < self._silent_until_s:
            raise CacheAway
        try:
            # By the pool of Django's cache, with its timeouts and its policy never to repeat a command.
            answer = question(_in_pool(get_redis_connection("default").connection_pool))
        except StorageError as error:
            self._note(error)
            raise CacheAway from error
        self._note(None)
        return answer

    def _note(self, error: StorageError | None) -> None:
        with self._lock:
            was_away, self._is_away = self._is_away, error is not None
            self._silent_until_s = time.monotonic() + SILENCE_SECONDS if error else 0.0
        if error and not was_away:
            log.error("limits_not_counted", error=repr(error.storage_error))
        elif was_away and not error:
            log.warning("limits_counted_again")


_cache_server = CacheServer()


@lru_cache(maxsize=4)
def _in_pool(pool: ConnectionPool) -> Limiters:
    # With a pool given, the address is used only to see that it is one of Redis.
    storage = RedisStorage("redis://", connection_pool=pool, wrap_exceptions=True)
    return Limiters(MovingWindowRateLimiter(storage), FixedWindowRateLimiter(storage))


@lru_cache(maxsize=1)
def _of_this_process() -> Limiters:
    storage = MemoryStorage()
    return Limiters(MovingWindowRateLimiter(storage), FixedWindowRateLimiter(storage))
