"""The lock of Redisson, and a stock that checks its fencing token.

Each time the free lock is taken, the token is the next number. The stock remembers the highest token that came with a
read or a write, and refuses lower ones. A holder that was paused past its lease may still believe that it holds the
lock. But the next holder has read with a higher token since, so the late write is refused and the buyer is told "busy".
From Martin Kleppmann, "How to do distributed locking" (2016). The resource must be able to check the token, and a stock
that can run a script could have decided there without any lock.
"""

from typing import Any

from bench.strategies.base.strategy import Answer, Fault, Surroundings
from bench.strategies.locks.redisson_lock import RedissonLock

# A read raises the token as well, or a late write could come between the next holder's read and its write.
# Returns -1 if the token is stale.
FENCED_GET = """\
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or 0) then
  return -1
end
redis.call('SET', KEYS[2], ARGV[1])
return tonumber(redis.call('GET', KEYS[1]) or 0)
"""

FENCED_DECRBY = """\
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or 0) then
  return -1
end
redis.call('DECRBY', KEYS[1], ARGV[2])
return 1
"""

STALE = -1


class RedissonLockFenced(RedissonLock):
    id = "redisson_lock_fenced"
    expected = "correct, even when a holder is paused longer than its lease: the stock refuses its late write"
    correct = True
    breaks_under = frozenset({Fault.KILLED, Fault.STORE_RESTARTED})

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        super().__init__(surroundings, name)
        self.fence = f"{name}:fence"
        self._get: Any = self.store.register_script(FENCED_GET)
        self._decrby: Any = self.store.register_script(FENCED_DECRBY)

    def act(self, units: int, token: int) -> Answer:
        stock = self._get(keys=[self.stock, self.fence], args=[token])
        if stock == STALE:
            return Answer.BUSY
        if stock < units:
            return Answer.REFUSED
        written = self._decrby(keys=[self.stock, self.fence], args=[token, units])
        return Answer.BUSY if written == STALE else Answer.SOLD

    def tear_down(self) -> None:
        super().tear_down()
        self.store.delete(self.fence)
