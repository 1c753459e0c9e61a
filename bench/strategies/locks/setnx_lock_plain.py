"""SETNX takes the lock, the work is done, DEL releases it.

The oldest lock in Redis, and the first that most people write: one command to take it, one to release it, and it works
in every test. But the lock has no expiry. If its holder raises an exception, is killed, or loses its host between SETNX
and DEL, the lock stays, and no buyer can buy until somebody deletes the key by hand.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class SetnxLockPlain(LockedStock):
    id = "setnx_lock_plain"
    expected = "correct while no holder fails; one that raises an exception or is killed blocks the sale for ever"
    correct = True
    breaks_under = frozenset({Fault.KILLED, Fault.STORE_RESTARTED})

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        for _ in range(self.tries_max):
            if self.store.setnx(self.lock, buyer):
                answer = self.check_then_decr(units)
                self.store.delete(self.lock)
                return answer
            self.surroundings.sleep(self.pause_seconds)
        return Answer.BUSY
