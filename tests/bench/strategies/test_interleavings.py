"""Flawed strategies fail under their schedules, each time; correct ones do not under any schedule that dice throw."""

from collections.abc import Callable, Sequence
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from bench.lab.schedules.interleaver import BUYERS, Aside, Done, OutOfTurn, Place, interleaved
from bench.lab.schedules.schedule import Scene
from bench.lab.schedules.slow_motion import SCENES, play, scenes_of, show
from bench.strategies.all_strategies import ALL
from bench.strategies.base.strategy import Answer, Fault, Home, Strategy
from bench.strategies.counters.check_then_decr import CheckThenDecr
from bench.strategies.counters.get_set import GetSet
from bench.strategies.locks.locked_stock import LockedStock
from tests.bench.strategies.conftest import RUN

Places = Callable[[type[Strategy]], Place]

FLAWED = [strategy for strategy in ALL if not strategy.correct or strategy.breaks_under]
NEVER_OVERSELLING = [strategy for strategy in ALL if strategy.correct or strategy.never_oversells]

# A lock is asked for again, so often at most: enough to get it from a live holder, few enough to be quick.
TRIES_MAX = 5

# Who goes next, of three at most; 6 numbers that 2 and 3 divide give each the same chance.
CHOICES = st.lists(st.integers(0, 5), max_size=30)


def by_id(strategy: type[Strategy]) -> str:
    return strategy.id


def by_name(scene: Scene) -> str:
    return f"{scene.strategy.id}-{scene.id}"


@pytest.mark.parametrize("scene", SCENES, ids=by_name)
def test_a_scene_shows_what_it_is_there_to_show(scene: Scene, place_of: Places) -> None:
    assert play(scene, place_of(scene.strategy), name=RUN)


@pytest.mark.parametrize("strategy", FLAWED, ids=by_id)
def test_each_flawed_strategy_has_a_scene_that_shows_its_flaw(strategy: type[Strategy]) -> None:
    assert any(scene.flaw for scene in scenes_of(strategy.id))


@pytest.mark.parametrize("scene", SCENES, ids=by_name)
def test_a_scene_has_one_outcome(scene: Scene, place_of: Places) -> None:
    assert len({lines_of(scene, place_of(scene.strategy)) for _ in range(2)}) == 1


@pytest.mark.parametrize("strategy", NEVER_OVERSELLING, ids=by_id)
def test_no_interleaving_of_live_buyers_oversells_or_loses_count(strategy: type[Strategy], place_of: Places) -> None:
    tries_max = TRIES_MAX if issubclass(strategy, LockedStock) else None
    with interleaved(strategy, place_of(strategy), name=RUN, time_stands_still=True, tries_max=tries_max) as sale:

        @settings(max_examples=200 if strategy.correct else 50, derandomize=True, deadline=None, database=None)
        @given(
            choices=CHOICES,
            units=st.lists(st.integers(1, 2), min_size=2, max_size=3),
            stock=st.integers(1, 2),
        )
        def under_any_schedule(choices: Sequence[int], units: Sequence[int], stock: int) -> None:
            buyers = BUYERS[: len(units)]
            sale.units.update(zip(buyers, units, strict=True))
            sale.begin_anew(stock=stock)
            sale.random(choices, buyers=buyers)
            answers = [sale.answer_of(who) for who in buyers]
            assert all(isinstance(answer, Answer) for answer in answers), answers
            assert sale.sold <= stock
            assert sale.sold + (sale.left() or 0) == stock
            if strategy.correct and max(units) == 1 and Answer.BUSY not in answers:
                assert sale.sold == min(stock, len(buyers))

        under_any_schedule()


@pytest.mark.parametrize("strategy", [GetSet, CheckThenDecr], ids=by_id)
def test_the_dice_find_what_is_wrong_with_a_counter_without_a_guard(strategy: type[Strategy], place_of: Places) -> None:
    with interleaved(strategy, place_of(strategy), name=RUN) as sale:

        @settings(max_examples=200, derandomize=True, deadline=None, database=None)
        @given(choices=CHOICES)
        def under_any_schedule(choices: Sequence[int]) -> None:
            sale.begin_anew(stock=1)
            sale.random(choices, buyers="AB")
            assert sale.sold <= 1

        with pytest.raises(AssertionError):
            under_any_schedule()


@pytest.mark.parametrize("strategy", ALL, ids=by_id)
def test_buyers_one_by_one_buy_exactly_the_stock(strategy: type[Strategy], make: Callable[..., Strategy]) -> None:
    sale = make(strategy, stock=5)
    assert sale.left() == 5
    answers = [sale.attempt(buyer) for buyer in range(1, 9)]
    assert answers == [Answer.SOLD] * 5 + [Answer.REFUSED] * 3
    assert sale.left() == 0


@pytest.mark.parametrize("strategy", ALL, ids=by_id)
def test_who_asks_for_more_than_is_left_gets_nothing(strategy: type[Strategy], make: Callable[..., Strategy]) -> None:
    sale = make(strategy, stock=3)
    assert [sale.attempt(1, 2), sale.attempt(2, 2), sale.attempt(3, 1)] == [Answer.SOLD, Answer.REFUSED, Answer.SOLD]
    assert sale.left() == 0


@pytest.mark.parametrize("strategy", [strategy for strategy in ALL if strategy.home is Home.STORE], ids=by_id)
def test_nothing_is_left_behind(strategy: type[Strategy], make: Callable[..., Strategy]) -> None:
    sale = make(strategy, stock=2)
    for buyer in (1, 2, 3):
        sale.attempt(buyer)
    sale.tear_down()
    assert sale.store.keys("*") == []


@pytest.mark.parametrize(("language", "said"), [("en", "one unit was sold twice"), ("zh-hans", "一件货卖了两次")])
def test_a_scene_is_told_in_the_readers_language(language: str, said: str, place_of: Places) -> None:
    paper = StringIO()
    place = place_of(CheckThenDecr)
    assert show("check_then_decr", Console(file=paper, width=150), language=language, store_url=place.store_url)
    told = paper.getvalue()
    assert said in told
    assert "DECRBY stock 1" in told
    assert "stock=-1" in told


def test_of_a_strategy_that_no_schedule_breaks_it_says_so(place_of: Places) -> None:
    paper = StringIO()
    assert show("ledger", Console(file=paper, width=150), language="en")
    assert "No schedule is known that breaks ledger." in paper.getvalue()


def test_who_was_killed_cannot_go_on(place_of: Places) -> None:
    with interleaved(CheckThenDecr, place_of(CheckThenDecr), name=RUN) as sale:
        sale.go("A")
        sale.kill("A")
        with pytest.raises(OutOfTurn):
            sale.go("A")
        assert sale.left() == 1


def test_faults_that_break_a_lock_are_among_its_scenes() -> None:
    words = {
        Fault.PAUSED: "holder_paused",
        Fault.KILLED: "killed",
        Fault.STORE_RESTARTED: "_lost",
        Fault.CLOCK_AHEAD: "clock_ahead",
    }
    for strategy in ALL:
        ids = [scene.id for scene in scenes_of(strategy.id)]
        for fault in strategy.breaks_under & words.keys():
            if issubclass(strategy, LockedStock):
                assert any(words[fault] in scene_id for scene_id in ids), (strategy.id, fault)


def lines_of(scene: Scene, place: Place) -> tuple[str, ...]:
    """What happened in a scene, without what is random in it: the identity of a process."""
    lines: list[str] = []

    def note(event: Done | Aside) -> None:
        if isinstance(event, Done):
            lines.append(f"{event.who} {event.command[0]} {event.answer} {event.killed}")
        else:
            lines.append(f"{event.text} {event.seen}")

    tries_max = 2 if issubclass(scene.strategy, LockedStock) else None
    with interleaved(
        scene.strategy, place, name=RUN, stock=scene.stock, units=dict(scene.units), tries_max=tries_max
    ) as sale:
        sale.report = note
        scene.play(sale)
    return tuple(lines)
