"""SETNX takes the lock, EXPIRE gives it an end in a second command; who does not get it is told "busy" at once.

The end lets a dead holder be forgotten, and telling the losers at once keeps web workers from waiting. But two
commands are two chances: killed between them, the holder leaves a lock without an end, and the sale is blocked for
ever. And under load nearly everybody is a loser: most buyers are sent away while units are left.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class SetnxLockExpire(LockedStock):
    id = "setnx_lock_expire"
    expected = "stuck when killed between SETNX and EXPIRE; refuses most buyers as busy: undersells under load"
    correct = False
    never_oversells = True
    breaks_under = frozenset({Fault.PAUSED, Fault.KILLED, Fault.STORE_RESTARTED})
    # Long against the millisecond that the work takes, short for a shop that waits for a dead holder's lock to end.
    lease_seconds = 10.0

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        if not self.store.setnx(self.lock, buyer):
            return Answer.BUSY
        self.store.pexpire(self.lock, self.lease_ms)
        try:
            return self.check_then_decr(units)
        finally:
            self.store.delete(self.lock)
