"""One Lua script takes the lock and sets its expiry (SETNX + PEXPIRE); then GET and DECR in two commands; DEL.

"Put it into Lua and it is atomic" is good advice, but only taking the lock is atomic here, not the sale. It does the
same as SET NX PX and has the same flaw: the holder deletes the lock without checking whose it is, and a holder that is
paused past the expiry works at the same time as the next. The same script could have decremented the stock without any
lock.
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
    breaks_under = frozenset({Fault.PAUSED, Fault.KILLED, Fault.STORE_RESTARTED})
    # Much longer than the millisecond of the work, and short enough to wait for after a holder was killed.
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
