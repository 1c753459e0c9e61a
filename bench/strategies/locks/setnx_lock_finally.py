"""SETNX takes the lock, and a `finally` gives it back.

The repair that follows the first exception in production: whatever happens to the work, the lock is deleted. But
`finally` is a promise of the language, not of the machine: after kill -9, an out-of-memory kill or a power cut nobody
is there to keep it, and the lock has still no end of its own.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class SetnxLockFinally(LockedStock):
    id = "setnx_lock_finally"
    expected = "no oversell while all live; survives exceptions, not kill -9: then the sale is blocked for ever"
    correct = True
    breaks_under = frozenset({Fault.KILLED, Fault.STORE_RESTARTED})

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        for _ in range(self.tries_max):
            if self.store.setnx(self.lock, buyer):
                try:
                    return self.check_then_decr(units)
                finally:
                    self.store.delete(self.lock)
            self.surroundings.sleep(self.pause_seconds)
        return Answer.BUSY
