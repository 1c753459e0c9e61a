"""GET, and refuse at zero or below; DECRBY the units; if the result is below zero, INCRBY back and refuse.

People write it for buyers who ask for 1 to 3 units, and the GET saves most refusals the two writes. It does not
oversell. But before a buyer of 3 has given its units back, a buyer of 1 is refused although a unit is left.
"""

from bench.strategies.base.strategy import Answer, CounterStock, Fault


class DecrbyRefund(CounterStock):
    id = "decrby_refund"
    expected = "never oversells; may refuse a buyer of 1 before a buyer of 3 has given its units back"
    correct = False
    never_oversells = True
    breaks_under = frozenset({Fault.KILLED, Fault.STORE_RESTARTED})

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        if int(self.store.get(self.key) or 0) <= 0:
            return Answer.REFUSED
        if int(self.store.decrby(self.key, units)) < 0:
            self.store.incrby(self.key, units)
            return Answer.REFUSED
        return Answer.SOLD
