"""One Lua script takes the lock and gives it an end (SETNX + PEXPIRE); then GET and DECR in two commands; DEL.

"Put it into Lua and it is atomic" is good advice, taken half-way here: the taking of the lock is atomic, what the
lock is for is not. It is SET NX PX spelt longer, with the same flaw: the holder deletes the lock without asking whose
it is, and one that is paused past the end works beside the next. The same script could have decremented the stock and
needed no lock.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock

ACQUIRE = """\
if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
return 0
"""


class LuaLock(LockedStock):
    id = "lua_lock"
    expected = "atomic acquire, the rest as set_nx_ex_lock: oversells when a holder is paused past the lease"
    correct = True
    breaks_under = frozenset({Fault.PAUSED})
    # Long against the millisecond that the work takes, short for a shop that waits for a dead holder's lock to end.
    lease_seconds = 10.0

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        acquire = self.store.register_script(ACQUIRE)
        for _ in range(self.tries_max):
            if acquire(keys=[self.lock], args=[buyer, self.lease_ms]):
                try:
                    return self.check_then_decr(units)
                finally:
                    self.store.delete(self.lock)
            self.surroundings.sleep(self.pause_seconds)
        return Answer.BUSY
