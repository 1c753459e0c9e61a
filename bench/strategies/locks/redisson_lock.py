"""The lock of Redisson, rebuilt from its description: the best that is made of a lock in Redis.

A hash counts per owner how often it holds the lock, so that it is re-entrant; taking and giving back are Lua scripts
that ask for the owner; a watchdog renews the lease for as long as the holder's process lives; waiters sleep until a
message of the one who gives the lock back wakes them. A dead holder is forgotten after the lease, and nobody frees
another's lock.

What breaks: a holder whose whole process is paused longer than the lease. Its watchdog is paused with it, the lock
goes to the next, and when the paused one wakes up, it acts on what it read before. No lock service can prevent it;
the resource can, by asking for a fencing token (see `redisson_lock_fenced`).

Where it differs: Redisson lets one waiter of each process look again when a message comes, this one lets all of them,
which costs more commands where a process has many threads.

Being re-entrant has a price as well: a holder whose answer got lost, because the store was restarted, takes the lock a
second time, gives it back once, and its watchdog renews what is left for as long as its process lives.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from bench.strategies.base.strategy import Answer, Fault, Surroundings
from bench.strategies.locks.locked_stock import LockedStock

# A fresh take draws the next fencing token; a second take by the same owner keeps it.
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

# Returns 1 where the lock is free now, 0 where the owner holds it still, -1 where it was not the owner's.
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

# Redisson renews at a third of the lease: two renewals may be lost before the lock is.
RENEWALS_PER_LEASE = 3

# How long a buyer waits for the lock before it gives up.
WAIT_SECONDS_MAX = 5.0
# A message lost with its connection must not let a waiter sleep on: it looks again after this long.
LOOK_AGAIN_SECONDS = 1.0


class RedissonLock(LockedStock):
    id = "redisson_lock"
    expected = "correct on live hosts; a holder paused longer than its lease oversells"
    correct = True
    breaks_under = frozenset({Fault.PAUSED, Fault.STORE_RESTARTED})
    lease_seconds = 30.0
    wait_seconds_max = WAIT_SECONDS_MAX

    def __init__(self, surroundings: Surroundings, name: str, *, renewal_seconds: float | None = None) -> None:
        """`renewal_seconds`: how often the watchdog renews; a third of the lease where none is given (10 s of 30 s)."""
        super().__init__(surroundings, name)
        self.renewal_seconds = renewal_seconds or self.lease_seconds / RENEWALS_PER_LEASE
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
        self._waking = threading.Lock()
        self._watchdog: threading.Thread | None = None

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        with self.holding() as token:
            return Answer.BUSY if token is None else self.act(units, token)

    def act(self, units: int, token: int) -> Answer:
        """What the lock is for. The token is of no use to a stock that does not ask for it."""
        return self.check_then_decr(units)

    @contextmanager
    def holding(self) -> Iterator[int | None]:
        """The lock, with its fencing token; None where it was not to be had in time. May be nested."""
        token = self._acquire_waiting()
        try:
            yield token
        finally:
            if token is not None:
                self._give_back()

    @property
    def owner(self) -> str:
        """This thread of this process."""
        return f"{self._id}:{threading.get_ident()}"

    def _take(self) -> tuple[int, int]:
        """The milliseconds for which the lock is another's yet, and 0; or 0 and the token."""
        ttl_ms, token = self._acquire(keys=[self.lock, self.token], args=[self.owner, self.lease_ms])
        if token:
            self._held.add(self.owner)
            self._wake_watchdog()
        return ttl_ms, token

    def _acquire_waiting(self) -> int | None:
        ttl_ms, token = self._take()
        if token:
            return token
        deadline = self.surroundings.clock() + self.wait_seconds_max
        # Subscribed before the next look: a lock given back in between is found, one given back later is heard.
        with self._listening() as messages:
            while True:
                ttl_ms, token = self._take()
                if token:
                    return token
                rest = deadline - self.surroundings.clock()
                if rest <= 0:
                    return None
                messages.get_message(timeout=min(ttl_ms / 1000, rest, LOOK_AGAIN_SECONDS))

    @contextmanager
    def _listening(self) -> Iterator[Any]:
        """Subscribed to the message that the lock is free, on a connection that the thread keeps for its next wait."""
        messages = getattr(self._local, "messages", None)
        if messages is None:
            messages = self._local.messages = self.store.pubsub()
            self._subscriptions.append(messages)
        try:
            messages.subscribe(self.freed)
            yield messages
            messages.unsubscribe(self.freed)
        except BaseException:
            messages.close()  # it connects anew when it is used again
            raise

    def _give_back(self) -> None:
        free = 1
        try:
            free = self._release(keys=[self.lock, self.freed], args=[self.owner, self.lease_ms])
        finally:
            # Also where the store was away: a lock that could not be given back must not be renewed for ever.
            if free != 0:
                self._held.discard(self.owner)

    # --- the watchdog ---

    def _wake_watchdog(self) -> None:
        """One thread for all locks of this process. It is paused when the process is, and dies when it does."""
        with self._waking:
            if self._watchdog is None:
                self._watchdog = threading.Thread(target=self._renew_until_closed, daemon=True, name="watchdog")
                self._watchdog.start()

    def _renew_until_closed(self) -> None:
        while not self._ending.wait(self.renewal_seconds):
            self.renew_held()

    def renew_held(self) -> None:
        """Begin the lease anew for each owner of this process that holds the lock."""
        for owner in list(self._held):
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
