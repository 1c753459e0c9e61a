"""GET the stock; if there is enough, SET it to what should be left.

People write it because this is how one changes a variable. But another buyer may buy between GET and SET: both write
the same number, and one of the two sales is not counted. It oversells a lot under load.
"""

from bench.strategies.base.strategy import Answer, CounterStock


class GetSet(CounterStock):
    id = "get_set"
    expected = "oversells a lot: updates are lost"
    correct = False

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        stock = int(self.store.get(self.key) or 0)
        if stock < units:
            return Answer.REFUSED
        self.store.set(self.key, stock - units)
        return Answer.SOLD
