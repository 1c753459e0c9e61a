"""SETNX takes the lock, the work is done, DEL gives it back.

The oldest Redis lock there is, and the first that most people write: one command to take, one to give back, and in
every test it works. The lock has no end of its own. A holder that raises, is killed, or loses its host between SETNX
and DEL leaves it behind, and nobody can buy any more until somebody deletes the key by hand.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class SetnxLockPlain(LockedStock):
    id = "setnx_lock_plain"
    expected = "no oversell while all live; a holder that raises or is killed blocks the sale for ever"
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
