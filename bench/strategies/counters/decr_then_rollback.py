"""DECRBY first; if the result is below zero, INCRBY back and refuse.

People write it because the answer of one atomic command decides, and it does not oversell. But each refusal writes
twice, readers see a stock below zero in between, units added at that moment are not sold at once, and a client that is
killed between the two commands loses units.
"""

from bench.strategies.base.strategy import Answer, CounterStock, Fault


class DecrThenRollback(CounterStock):
    id = "decr_then_rollback"
    expected = "never oversells; writes twice per refusal, and the counter falls below zero for a moment"
    correct = False
    never_oversells = True
    breaks_under = frozenset({Fault.KILLED, Fault.STORE_RESTARTED})

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        if int(self.store.decrby(self.key, units)) < 0:
            self.store.incrby(self.key, units)
            return Answer.REFUSED
        return Answer.SOLD
