"""DECRBY first, and INCRBY back if the largest integer minus the result overflows.

An old trick: MAX - value overflows exactly when value is negative. Python's integers do not overflow, so the native
range is checked explicitly. The guarantee and the double writes are those of `decr_then_rollback`: the trick gains
nothing over `< 0`.
"""

from bench.strategies.base.strategy import Answer, CounterStock, Fault

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class OverflowCheck(CounterStock):
    id = "overflow_check"
    expected = "the same as decr_then_rollback: the trick gains nothing"
    correct = False
    never_oversells = True
    breaks_under = frozenset({Fault.KILLED, Fault.STORE_RESTARTED})

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        if overflows(INT64_MAX - int(self.store.decrby(self.key, units))):
            self.store.incrby(self.key, units)
            return Answer.REFUSED
        return Answer.SOLD


def overflows(number: int) -> bool:
    """Whether a signed 64-bit integer cannot hold the number."""
    return not INT64_MIN <= number <= INT64_MAX
