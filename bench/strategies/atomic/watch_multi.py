"""WATCH the stock; GET it; MULTI, DECRBY, EXEC; try again if somebody else wrote in between.

People write it because it is Redis's own way to check and then act, and it is correct. But of all buyers who read the
same stock, EXEC succeeds for only one. The more buyers there are, the more of their work is wasted.
"""

from redis.exceptions import WatchError

from bench.strategies.base.strategy import Answer, CounterStock, Fault

# Without a bound, many buyers would retry until nothing moves. Articles use three.
TRIES_MAX = 3


class WatchMulti(CounterStock):
    id = "watch_multi"
    expected = "correct; a large share of attempts fails on conflict, and it is slower than Lua"
    correct = True
    breaks_under = frozenset({Fault.STORE_RESTARTED})

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        for _ in range(TRIES_MAX):
            with self.store.pipeline() as pipeline:
                pipeline.watch(self.key)
                if int(pipeline.get(self.key) or 0) < units:
                    return Answer.REFUSED
                pipeline.multi()
                pipeline.decrby(self.key, units)
                try:
                    pipeline.execute()
                except WatchError:
                    continue
                return Answer.SOLD
        return Answer.BUSY
