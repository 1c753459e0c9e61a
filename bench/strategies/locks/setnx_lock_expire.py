"""SETNX takes the lock, EXPIRE sets its expiry in a second command; a buyer who does not get it is told "busy" at once.

The expiry frees the lock of a killed holder, and answering at once keeps web workers from waiting. But a holder that is
killed between the two commands leaves a lock that never expires, and the sale is blocked for ever. And under load
hardly any buyer gets the lock: most are turned away while units are left. A holder that is paused past the expiry sells
a unit that another has bought, as with `set_nx_ex_lock`.
"""

from bench.strategies.base.strategy import Answer, Fault
from bench.strategies.locks.locked_stock import LockedStock


class SetnxLockExpire(LockedStock):
    id = "setnx_lock_expire"
    expected = 'stuck when killed between SETNX and EXPIRE; under load it tells most buyers "busy"'
    correct = False
    never_oversells = True
    breaks_under = frozenset({Fault.PAUSED, Fault.KILLED, Fault.STORE_RESTARTED})
    # Much longer than the millisecond of the work, and short enough to wait for after a holder was killed.
    lease_seconds = 10.0

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        if not self.store.setnx(self.lock, buyer):
            return Answer.BUSY
        self.store.pexpire(self.lock, self.lease_ms)
        try:
            return self.check_then_decr(units)
        finally:
            self.store.delete(self.lock)
