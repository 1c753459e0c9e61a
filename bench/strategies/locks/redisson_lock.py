"""The lock of Redisson, written from its description: the most careful lock in Redis.

It is re-entrant: a hash counts how often each owner holds the lock. Lua scripts check the owner when they take and
release it. A watchdog renews the lease as long as the holder's process lives. Waiting clients sleep until a message
tells them that the lock was released. The lock of a killed holder expires, and no client releases another's lock.

It fails when the holder's whole process is paused for longer than the lease. Its watchdog is paused as well, another
client takes the lock, and when the paused one continues, it acts on what it read before. No lock service can prevent
this; the resource can, by checking a fencing token (see `redisson_lock_fenced`).

One difference: in Redisson one waiting thread of each process tries again after a message, here all of them do, which
costs more commands if a process has many threads.

Being re-entrant has a flaw of its own. A holder that did not get the answer because the store restarted takes the lock
a second time and releases it once, and its watchdog renews the lock as long as its process lives.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from redis.exceptions import RedisError

from bench.strategies.base.strategy import Answer, Fault, Surroundings
from bench.strategies.locks.locked_stock import LockedStock

# Taking a free lock draws the next fencing token; taking it again as its owner keeps the token.
# Returns {0, token} or {ttl_ms, 0}.
ACQUIRE = """\
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {0, redis.call('INCR', KEYS[2])}
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {0, tonumber(redis.call('GET', KEYS[2]))}
end
return {math.max(redis.call('PTTL', KEYS[1]), 1), 0}
"""

# Returns 1 if the lock is free now, 0 if the owner still holds it, -1 if it was not the owner's.
RELEASE = """\
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return -1
end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], 'free')
return 1
"""

RENEW = """\
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
"""

# Redisson renews at a third of the lease: the lock survives two failed renewals.
RENEWALS_PER_LEASE = 3

# How long a buyer waits for the lock before it gives up.
WAIT_SECONDS_MAX = 5.0
# A message can be lost with its connection, so a waiting client tries again after this long.
TRY_AGAIN_SECONDS = 1.0


class RedissonLock(LockedStock):
    id = "redisson_lock"
    expected = "correct without faults; a holder paused longer than its lease oversells"
    correct = True
    breaks_under = frozenset({Fault.PAUSED, Fault.KILLED, Fault.STORE_RESTARTED})
    lease_seconds = 30.0
    wait_seconds_max = WAIT_SECONDS_MAX

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        super().__init__(surroundings, name)
        self.renewal_seconds = self.lease_seconds / RENEWALS_PER_LEASE
        self.token = f"{name}:token"
        self.freed = f"{name}:freed"
        self._id = str(uuid4())
        self._acquire = self.store.register_script(ACQUIRE)
        self._release = self.store.register_script(RELEASE)
        self._renew = self.store.register_script(RENEW)
        self._local = threading.local()
        self._subscriptions: list[Any] = []
        self._held: set[str] = set()
        self._ending = threading.Event()
        self._watchdog_guard = threading.Lock()
        self._watchdog: threading.Thread | None = None

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        with self.holding() as token:
            return Answer.BUSY if token is None else self.act(units, token)

    def act(self, units: int, token: int) -> Answer:
        """Sell the units. This stock does not check the token."""
        return self.check_then_decr(units)

    @contextmanager
    def holding(self) -> Iterator[int | None]:
        """Hold the lock. Yields the fencing token, or None if the lock was not free in time. May be nested."""
        token = self._acquire_waiting()
        try:
            yield token
        finally:
            if token is not None:
                self._release_lock()

    @property
    def owner(self) -> str:
        """This thread of this process."""
        return f"{self._id}:{threading.get_ident()}"

    def _try_acquire(self) -> tuple[int, int]:
        """0 and the token; or, if another holds the lock, the milliseconds until that lease ends, and 0."""
        ttl_ms, token = self._acquire(keys=[self.lock, self.token], args=[self.owner, self.lease_ms])
        if token:
            self._held.add(self.owner)
            self._start_watchdog()
        return ttl_ms, token

    def _acquire_waiting(self) -> int | None:
        ttl_ms, token = self._try_acquire()
        if token:
            return token
        deadline = self.surroundings.clock() + self.wait_seconds_max
        # Subscribed before the next try: that try finds a lock released until then, a later release sends a message.
        with self._listening() as messages:
            while True:
                ttl_ms, token = self._try_acquire()
                if token:
                    return token
                seconds_left = deadline - self.surroundings.clock()
                if seconds_left <= 0:
                    return None
                messages.get_message(timeout=min(ttl_ms / 1000, seconds_left, TRY_AGAIN_SECONDS))

    @contextmanager
    def _listening(self) -> Iterator[Any]:
        """Subscribe to the message that the lock is free, on a connection that the thread keeps for its next wait."""
        messages = getattr(self._local, "messages", None)
        if messages is None:
            messages = self._local.messages = self.store.pubsub()
            self._subscriptions.append(messages)
        try:
            messages.subscribe(self.freed)
            yield messages
            messages.unsubscribe(self.freed)
        except BaseException:
            messages.close()  # it connects again when it is used
            raise

    def _release_lock(self) -> None:
        free = 1
        try:
            free = self._release(keys=[self.lock, self.freed], args=[self.owner, self.lease_ms])
        finally:
            # Also if the store was away: a lock that could not be released must not be renewed for ever.
            if free != 0:
                self._held.discard(self.owner)

    # --- the watchdog ---

    def _start_watchdog(self) -> None:
        """One thread for all locks of this process. It is paused and ends with the process."""
        with self._watchdog_guard:
            if self._watchdog is None:
                self._watchdog = threading.Thread(target=self._renew_until_closed, daemon=True, name="watchdog")
                self._watchdog.start()

    def _renew_until_closed(self) -> None:
        while not self._ending.wait(self.renewal_seconds):
            self.renew_held()

    def renew_held(self) -> None:
        """Renew the lease for each owner of this process that holds the lock."""
        for owner in list(self._held):
            # A store that is away for a moment must not end the watchdog: nothing would start it again.
            with suppress(RedisError):
                if not self._renew(keys=[self.lock], args=[owner, self.lease_ms]):
                    self._held.discard(owner)

    def close(self) -> None:
        self._ending.set()
        if self._watchdog is not None:
            self._watchdog.join()
        for messages in self._subscriptions:
            messages.close()

    def tear_down(self) -> None:
        super().tear_down()
        self.store.delete(self.token)
