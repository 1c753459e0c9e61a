"""GET the stock; if there is enough, SET it to what should be left.

People write it because it is how one changes a variable. Between GET and SET anybody else may have bought: both write
the same number back, and one of two sales is forgotten. It oversells massively under load.
"""

from bench.strategies.base.counter_stock import CounterStock
from bench.strategies.base.strategy import Answer


class GetSet(CounterStock):
    id = "get_set"
    expected = "oversells massively: updates are lost"
    correct = False

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        stock = int(self.store.get(self.key) or 0)
        if stock < units:
            return Answer.REFUSED
        self.store.set(self.key, stock - units)
        return Answer.SOLD
