"""A fencing token holds whatever pauses the dice throw; without it, or with half of it, the same dice oversell."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from bench.lab.schedules.interleaver import Interleaver, Place, interleaved
from bench.lab.schedules.stepped_buyer import State
from bench.strategies.base.strategy import Strategy
from bench.strategies.locks.redisson_lock import RedissonLock
from bench.strategies.locks.redisson_lock_fenced import RedissonLockFenced
from tests.bench.strategies.conftest import RUN

Places = Callable[[type[Strategy]], Place]

# A throw of this lets more time pass than a lease has; nobody's watchdog comes by meanwhile.
PAUSE, PAUSE_SECONDS = 3, 31.0

PLAIN_GET = "return tonumber(redis.call('GET', KEYS[1]) or 0)"
RAISING_DECRBY = """\
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or 0) then
  return -1
end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('DECRBY', KEYS[1], ARGV[2])
return 1
"""


class FencedAtWritesOnly(RedissonLockFenced):
    """The token as it is often understood: only a write shows it."""

    id = "fenced_at_writes_only"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._get = self.store.register_script(PLAIN_GET)
        self._decrby = self.store.register_script(RAISING_DECRBY)


def test_no_pause_oversells_a_stock_that_asks_for_the_token(place_of: Places) -> None:
    with interleaved(RedissonLockFenced, place_of(RedissonLockFenced), name=RUN) as sale:
        throw_dice(sale)


@pytest.mark.parametrize("strategy", [RedissonLock, FencedAtWritesOnly], ids=lambda strategy: strategy.id)
def test_the_same_dice_oversell_without_the_token_or_with_half_of_it(
    strategy: type[Strategy], place_of: Places
) -> None:
    with interleaved(strategy, place_of(strategy), name=RUN) as sale, pytest.raises(AssertionError, match="oversold"):
        throw_dice(sale)


def throw_dice(sale: Interleaver) -> None:
    # What the dice find need not be made small: the scenes tell it in few steps.
    @settings(max_examples=200, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    @given(choices=st.lists(st.integers(0, PAUSE), min_size=6, max_size=16))
    def under_any_schedule(choices: Sequence[int]) -> None:
        sale.begin_anew(stock=1)
        play(sale, choices)
        assert sale.sold <= 1, "oversold"
        assert sale.sold + (sale.left() or 0) == 1

    under_any_schedule()


def play(sale: Interleaver, choices: Sequence[int]) -> None:
    """Two buyers, one attempt each."""
    buyers = "AB"
    for who in buyers:
        sale.ready(who)

    def stopped() -> list[str]:
        return [who for who in buyers if sale.puppets[who].state is State.STOPPED]

    for choice in choices:
        if choice == PAUSE:
            sale.pass_time(PAUSE_SECONDS)
        elif ready := stopped():
            sale.go(ready[choice % len(ready)])
    while ready := stopped():
        sale.go(ready[0])
