"""With a fencing token, no random pauses oversell; without it, the same pauses do."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bench.lab.schedules.interleaver import Interleaver, ServerUrls, interleaved
from bench.lab.schedules.stepped_buyer import State
from bench.strategies.base.strategy import Strategy
from bench.strategies.locks.redisson_lock import RedissonLock
from bench.strategies.locks.redisson_lock_fenced import RedissonLockFenced
from tests.bench.strategies.conftest import RUN

UrlsOf = Callable[[type[Strategy]], ServerUrls]

# This choice lets more time pass than a lease has, without any watchdog.
PAUSE, PAUSE_SECONDS = 3, 31.0

# A busy machine is no fault.
SLOW = [HealthCheck.too_slow]


def test_no_pause_oversells_a_stock_that_checks_the_token_and_without_it_the_same_pauses_do(urls_of: UrlsOf) -> None:
    with interleaved(RedissonLockFenced, urls_of(RedissonLockFenced), name=RUN) as sale:
        run_random_schedules(sale)
    with (
        interleaved(RedissonLock, urls_of(RedissonLock), name=RUN) as sale,
        pytest.raises(AssertionError, match="oversold"),
    ):
        run_random_schedules(sale)


def run_random_schedules(sale: Interleaver) -> None:
    # So many, always the same, show the flaw. They need not be minimised: the schedules of the lab are shorter.
    @settings(
        max_examples=100,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=SLOW,
        phases=[Phase.generate],
    )
    @given(choices=st.lists(st.integers(0, PAUSE), min_size=6, max_size=16))
    def under_any_schedule(choices: Sequence[int]) -> None:
        sale.restart_sale(stock=1)
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
        return [who for who in buyers if sale.buyers[who].state is State.STOPPED]

    for choice in choices:
        if choice == PAUSE:
            sale.pass_time(PAUSE_SECONDS)
        elif ready := stopped():
            sale.go(ready[choice % len(ready)])
    while ready := stopped():
        sale.go(ready[0])
