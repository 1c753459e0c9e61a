"""SETNX takes the lock, and a `finally` releases it.

The usual repair after the first exception in production: the lock is deleted even if the work fails. But `finally` does
not run after kill -9, an out-of-memory kill or a power cut, and the lock still has no expiry.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class SetnxLockFinally(LockedStock):
    id = "setnx_lock_finally"
    expected = "correct while no holder is killed; survives exceptions, but kill -9 blocks the sale for ever"
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
