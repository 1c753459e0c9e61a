"""SET NX PX takes the lock and sets its expiry in one command; DEL releases it, even if another buyer holds it.

Most articles end here: the gap between SETNX and EXPIRE is closed. But the holder never checks whether the lock is
still its own. If it is paused past the expiry (garbage collection, a swapped page, a stopped container), another client
takes the lock. The paused one then continues with the stock it read before, and deletes the other's lock, so that a
third client gets it.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class SetNxExLock(LockedStock):
    id = "set_nx_ex_lock"
    expected = "oversells when a holder is paused past the lease: it acts late and deletes the next holder's lock"
    correct = True
    breaks_under = frozenset({Fault.PAUSED, Fault.KILLED, Fault.STORE_RESTARTED})
    # Much longer than the millisecond of the work, and short enough to wait for after a holder was killed.
    lease_seconds = 10.0

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        for _ in range(self.tries_max):
            if self.store.set(self.lock, buyer, nx=True, px=self.lease_ms):
                try:
                    return self.check_then_decr(units)
                finally:
                    self.store.delete(self.lock)
            self.surroundings.sleep(self.pause_seconds)
        return Answer.BUSY
