"""SET NX PX takes the lock and gives it an end, in one command; DEL gives it back, whoever holds it.

What most articles end with: the gap between SETNX and EXPIRE is closed. But the holder never asks whether the lock is
still its own. One that is paused past the end (garbage collection, a swapped page, a stopped container) finds another
in the lock, works beside it on what it read before, and then deletes the other's lock and lets a third one in.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class SetNxExLock(LockedStock):
    id = "set_nx_ex_lock"
    expected = "oversells when a holder is paused past the lease: it acts late and frees the next holder's lock"
    correct = True
    breaks_under = frozenset({Fault.PAUSED})
    # Long against the millisecond that the work takes, short for a shop that waits for a dead holder's lock to end.
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
