"""The lock's value is its deadline by the client's clock; a client that finds it past takes over with GETSET.

From the time before SET NX PX, and long in Redis's own documentation: the lock of a killed holder is taken over without
any expiry in the store. If several clients find the deadline past, GETSET returns the old deadline to only one of them.
The others get the winner's new deadline and know that they were too late, but have overwritten it with a slightly later
one. All this depends on the clocks of the clients: one whose clock is ahead takes the lock from a live holder, and a
paused holder loses it just like a killed one.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class GetsetLock(LockedStock):
    id = "getset_lock"
    expected = "correct if all clocks agree; oversells if one is wrong or a holder is paused"
    correct = True
    breaks_under = frozenset({Fault.PAUSED, Fault.KILLED, Fault.STORE_RESTARTED, Fault.CLOCK_AHEAD})
    lease_seconds = 0.1

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        for _ in range(self.tries_max):
            deadline = self._acquire()
            if deadline is not None:
                try:
                    return self.check_then_decr(units)
                finally:
                    # After the deadline another client may have the lock: do not delete it.
                    if self.surroundings.clock() < deadline:
                        self.store.delete(self.lock)
            self.surroundings.sleep(self.pause_seconds)
        return Answer.BUSY

    def _acquire(self) -> float | None:
        """Our deadline if we have got the lock, else None."""
        now = self.surroundings.clock()
        deadline = now + self.lease_seconds
        if self.store.setnx(self.lock, deadline):
            return deadline
        seen = self.store.get(self.lock)
        if seen is None or float(seen) >= now:
            return None
        before = self.store.getset(self.lock, deadline)
        return deadline if before is None or float(before) < now else None
