"""DECRBY first; where the result is below zero, INCRBY back and refuse.

People write it because the answer of one atomic command decides. It does not oversell. But each refusal writes twice,
the counter dips below zero so that readers see nonsense, a restock that comes in between is eaten for a moment, and a
client that dies between the two takes its units along.
"""

from bench.strategies.base.counter_stock import CounterStock
from bench.strategies.base.strategy import Answer


class DecrThenRollback(CounterStock):
    id = "decr_then_rollback"
    expected = "never oversells; writes twice per refusal, and the counter dips below zero"
    correct = False
    never_oversells = True

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        if int(self.store.decrby(self.key, units)) < 0:
            self.store.incrby(self.key, units)
            return Answer.REFUSED
        return Answer.SOLD
