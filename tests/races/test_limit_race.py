"""A limit in a rush of real processes: exactly as many pass as the limit allows."""

from collections import Counter

import pytest

from shop.http.rate_limits import LimitReached, take
from tests.races.racing_processes import Call, racing_processes

CALLS = 200


@pytest.mark.parametrize("rate", ["5/minute", "1/hour"])
def test_of_200_parallel_calls_under_a_limit_exactly_that_many_pass(rate: str) -> None:
    with racing_processes() as racers:
        answers = racers.race(attempt, [{"rate": rate}] * CALLS)
    limit = int(rate.partition("/")[0])
    assert Counter(answers) == {"passed": limit, "refused": CALLS - limit}


def attempt(call: Call) -> str:
    try:
        take(action="a_race", rate=call["rate"], key="one buyer")
    except LimitReached:
        return "refused"
    return "passed"
