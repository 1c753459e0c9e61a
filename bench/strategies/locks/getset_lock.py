"""The lock's value is its deadline by the client's clock; who finds the deadline past takes over with GETSET.

From the days before SET NX PX, and long in Redis's own documentation: a dead holder's lock is taken over without any
expiry in the store. Of several that find it past, GETSET gives the old deadline to one alone; the others read the
winner's new deadline, know that they came too late, and have overwritten it with their own, a little later. All of it
rests on the clocks of the clients: one that is ahead takes over from a live holder, and a paused holder is taken over
from like a dead one.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class GetsetLock(LockedStock):
    id = "getset_lock"
    expected = "correct on live hosts with one clock; oversells with a skewed clock or a paused holder"
    correct = True
    breaks_under = frozenset({Fault.PAUSED, Fault.CLOCK_AHEAD})
    lease_seconds = 0.1

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        for _ in range(self.tries_max):
            deadline = self._acquire()
            if deadline is not None:
                try:
                    return self.check_then_decr(units)
                finally:
                    # After the deadline the lock may be another's: leave it to be taken over.
                    if self.surroundings.clock() < deadline:
                        self.store.delete(self.lock)
            self.surroundings.sleep(self.pause_seconds)
        return Answer.BUSY

    def _acquire(self) -> float | None:
        """Our deadline where the lock is ours, None where it is another's."""
        now = self.surroundings.clock()
        deadline = now + self.lease_seconds
        if self.store.setnx(self.lock, deadline):
            return deadline
        seen = self.store.get(self.lock)
        if seen is None or float(seen) >= now:
            return None
        before = self.store.getset(self.lock, deadline)
        return deadline if before is None or float(before) < now else None
