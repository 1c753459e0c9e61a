"""Ratios within a round, their median, and whether a target is reached."""

from bench.measure.speed.part import Sample
from bench.measure.speed.parts.all_parts import BY_NAME
from bench.measure.speed.parts.command_parts import ratios_in
from bench.measure.speed.ratios import TARGETS, Target, is_reached, spread, values_of, verdicts


def rate(value: float) -> Sample:
    return Sample(requests=1, per_second=value, cpu_us={"web": 1.0})


HALF = Target(title="live ÷ hello", part="live", other="wsgi-hello", bound=0.5)


def test_a_ratio_compares_figures_of_the_same_round() -> None:
    live = {0: rate(50), 1: rate(10), 2: rate(60)}
    # The machine was slow in the second round.
    assert values_of(HALF, {"live": live, "wsgi-hello": {0: rate(100), 1: rate(20), 2: rate(100)}}) == [0.5, 0.5, 0.6]
    # A round without one of the two is left out.
    assert values_of(HALF, {"live": {0: rate(50), 2: rate(60)}, "wsgi-hello": {1: rate(100), 2: rate(100)}}) == [0.6]


def test_the_median_of_the_ratios_decides() -> None:
    hello = {number: rate(100) for number in range(3)}
    verdict, *_more = verdicts({"live": {0: rate(10), 1: rate(86), 2: rate(90)}, "rsgi-hello": hello})
    assert verdict.target.bound == 0.85
    assert verdict.median == 0.86
    assert verdict.reached
    verdict, *_more = verdicts({"live": {0: rate(90), 1: rate(84), 2: rate(10)}, "rsgi-hello": hello})
    assert not verdict.reached


def test_a_target_whose_parts_were_not_measured_has_no_verdict() -> None:
    assert not verdicts({"live": {0: rate(1)}})
    assert not verdicts({"live": {0: rate(1)}, "rsgi-hello": {}})


def test_the_bound_itself() -> None:
    def reached(median: float, *, at_most: bool = False, strict: bool = False) -> bool | None:
        target = Target(title="", part="live", bound=1, at_most=at_most, strict=strict)
        return is_reached(target, median)

    assert [reached(median) for median in (1.0, 0.99)] == [True, False]
    assert [reached(median, at_most=True) for median in (1.0, 1.01)] == [True, False]
    assert [reached(median, at_most=True, strict=True) for median in (1.0, 0.99)] == [False, True]
    # Without a bound nothing is reached or missed.
    assert is_reached(Target(title="", part="live"), 5.0) is None


def test_every_target_names_parts_that_exist() -> None:
    for target in TARGETS:
        assert target.part in BY_NAME
        assert not target.other or target.other in BY_NAME


def test_a_spread_is_lowest_median_and_highest() -> None:
    found = spread([5.0, 1.0, 3.0, 4.0])
    assert (found.low, found.median, found.high) == (1.0, 3.5, 5.0)


def test_growth_is_the_time_beside_few_divided_by_the_time_beside_many() -> None:
    def column(caller_us: float) -> dict[str, dict[str, float]]:
        return {"reserve": {"caller_us": caller_us, "store_us": 1.0}}

    written = {"microseconds": {"1,000 reservations": column(90), "1,000,000 reservations": column(100)}}
    assert ratios_in(written) == {"reserve_ratio": 0.9}
