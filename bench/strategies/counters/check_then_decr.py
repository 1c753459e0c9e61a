"""GET the stock; if there is enough, DECRBY in a second command.

People write it because DECR is atomic, so no update is lost. But the check is a separate step: two buyers who both see
the last unit both take it, and the counter falls below zero.
"""

from bench.strategies.base.strategy import Answer, CounterStock


class CheckThenDecr(CounterStock):
    id = "check_then_decr"
    expected = "oversells when two buyers both see the last unit"
    correct = False

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        if int(self.store.get(self.key) or 0) < units:
            return Answer.REFUSED
        self.store.decrby(self.key, units)
        return Answer.SOLD
