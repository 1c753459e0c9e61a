"""Flawed strategies fail every time under their schedules; correct ones do not fail under any random schedule."""

import os
from collections.abc import Callable, Sequence
from io import StringIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from bench.lab.schedules.interleaver import BUYERS, BuyerStep, ServerUrls, SideEvent, interleaved
from bench.lab.schedules.schedule import Schedule
from bench.lab.schedules.slow_motion import SCHEDULES, schedules_of, show, staged
from bench.strategies.all_strategies import ALL
from bench.strategies.base.strategy import Answer, Backend, Fault, Strategy
from bench.strategies.counters.check_then_decr import CheckThenDecr
from bench.strategies.counters.get_set import GetSet
from bench.strategies.locks.locked_stock import LockedStock
from tests.bench.strategies.conftest import RUN

UrlsOf = Callable[[type[Strategy]], ServerUrls]

# On the cluster, lua_purchase runs as it does on one server: its schedules are the same.
FLAWED = [
    strategy
    for strategy in ALL
    if (not strategy.correct or strategy.breaks_under) and strategy.backend is not Backend.CLUSTER
]
NEVER_OVERSELLING = [strategy for strategy in ALL if strategy.correct or strategy.never_oversells]

# The tries for a lock: enough to get it from a live holder, few enough to be quick.
TRIES_MAX = 5

# So many schedules, always the same, find the flaws of counters without a guard.
EXAMPLES = 40
# A busy machine is no fault.
SLOW = [HealthCheck.too_slow]
# Which of two or three buyers continues; 6 numbers give each the same chance.
CHOICES = st.lists(st.integers(0, 5), max_size=30)


def by_id(strategy: type[Strategy]) -> str:
    return strategy.id


def by_name(schedule: Schedule) -> str:
    return f"{schedule.strategy.id}-{schedule.id}"


@pytest.mark.parametrize("schedule", SCHEDULES, ids=by_name)
def test_a_schedule_shows_what_it_should_in_the_same_way_each_time(schedule: Schedule, urls_of: UrlsOf) -> None:
    first, second = (outcome_of(schedule, urls_of(schedule.strategy)) for _ in range(2))
    is_shown, _lines = first
    assert is_shown
    assert second == first


def test_each_flawed_strategy_has_a_schedule_that_shows_its_flaw_and_a_lock_one_for_each_fault() -> None:
    words = {
        Fault.PAUSED: "holder_paused",
        Fault.KILLED: "killed",
        Fault.STORE_RESTARTED: "_lost",
        Fault.CLOCK_AHEAD: "clock_ahead",
    }
    for strategy in FLAWED:
        schedules = schedules_of(strategy.id)
        assert any(schedule.flaw for schedule in schedules), strategy.id
        for fault in strategy.breaks_under & words.keys():
            if issubclass(strategy, LockedStock):
                assert any(words[fault] in schedule.id for schedule in schedules), (strategy.id, fault)


@pytest.mark.parametrize("strategy", NEVER_OVERSELLING, ids=by_id)
def test_no_interleaving_of_live_buyers_oversells_or_loses_count(strategy: type[Strategy], urls_of: UrlsOf) -> None:
    tries_max = TRIES_MAX if issubclass(strategy, LockedStock) else None
    with interleaved(strategy, urls_of(strategy), name=RUN, time_stands_still=True, tries_max=tries_max) as sale:

        @settings(
            max_examples=EXAMPLES if strategy.correct else EXAMPLES // 2,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=SLOW,
        )
        @given(choices=CHOICES, units=st.lists(st.integers(1, 2), min_size=2, max_size=3), stock=st.integers(1, 2))
        def under_any_schedule(choices: Sequence[int], units: Sequence[int], stock: int) -> None:
            buyers = BUYERS[: len(units)]
            sale.units.update(zip(buyers, units, strict=True))
            sale.restart_sale(stock=stock)
            sale.random(choices, buyers=buyers)
            answers = [sale.answer_of(who) for who in buyers]
            assert all(isinstance(answer, Answer) for answer in answers), answers
            assert sale.sold <= stock
            assert sale.sold + (sale.left() or 0) == stock
            if strategy.correct and max(units) == 1 and Answer.BUSY not in answers:
                assert sale.sold == min(stock, len(buyers))

        under_any_schedule()


@pytest.mark.parametrize("strategy", [GetSet, CheckThenDecr], ids=by_id)
def test_random_schedules_find_the_flaw_of_a_counter_without_a_guard(strategy: type[Strategy], urls_of: UrlsOf) -> None:
    with interleaved(strategy, urls_of(strategy), name=RUN) as sale:

        @settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, suppress_health_check=SLOW)
        @given(choices=CHOICES)
        def under_any_schedule(choices: Sequence[int]) -> None:
            sale.restart_sale(stock=1)
            sale.random(choices, buyers="AB")
            assert sale.sold <= 1

        with pytest.raises(AssertionError):
            under_any_schedule()


@pytest.mark.parametrize("strategy", ALL, ids=by_id)
def test_buyers_one_by_one_buy_exactly_the_stock_and_who_asks_for_more_than_is_left_gets_nothing(
    strategy: type[Strategy], make: Callable[..., Strategy]
) -> None:
    sale = make(strategy, stock=5)
    assert sale.left() == 5
    assert [sale.attempt(buyer) for buyer in range(1, 9)] == [Answer.SOLD] * 5 + [Answer.REFUSED] * 3
    assert sale.left() == 0
    sale.tear_down()
    if strategy.backend is Backend.STORE:
        assert sale.store.keys("*") == []
    sale.set_stock(3)
    assert [sale.attempt(1, 2), sale.attempt(2, 2), sale.attempt(3, 1)] == [Answer.SOLD, Answer.REFUSED, Answer.SOLD]
    assert sale.left() == 0


def test_a_schedule_is_printed_in_the_readers_language() -> None:
    store_url = os.environ["SECKILL_REDIS_URL"]
    for language, said in (("en", "one unit was sold twice"), ("zh-hans", "一件货卖了两次")):
        paper = StringIO()
        assert show("check_then_decr", Console(file=paper, width=150), language=language, store_url=store_url)
        assert said in paper.getvalue()
        assert "DECRBY stock 1" in paper.getvalue()
        assert "stock=-1" in paper.getvalue()
    paper = StringIO()
    assert show("ledger", Console(file=paper, width=150), language="en", store_url=store_url)
    assert "No schedule is known that breaks ledger." in paper.getvalue()


def outcome_of(schedule: Schedule, urls: ServerUrls) -> tuple[bool, list[str]]:
    """Whether a schedule showed what it should, and what happened in it, without what is random: process identities."""
    lines: list[str] = []

    def note(event: BuyerStep | SideEvent) -> None:
        if isinstance(event, BuyerStep):
            lines.append(f"{event.who} {event.command[0]} {event.answer} {event.killed}")
        else:
            lines.append(f"{event.text} {event.seen}")

    with staged(schedule, urls, name=RUN) as sale:
        sale.report = note
        return schedule.run(sale), lines
