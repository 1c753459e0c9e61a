"""A limit in a rush of real processes: exactly as many pass as the limit allows."""

from collections import Counter

import pytest
from django.conf import settings
from django.utils import timezone

from seckill.api.views import pass_body
from seckill.models import Sale
from shop.http.rate_limits import LimitReached, take
from tests.races.racing_processes import Call, RacingProcesses

CALLS = 200


@pytest.mark.parametrize("rate", ["5/minute", "1/hour"])
def test_of_200_parallel_calls_under_a_limit_exactly_that_many_pass(racers: RacingProcesses, rate: str) -> None:
    answers = racers.race(attempt, [{"rate": rate}] * CALLS)
    limit = int(rate.partition("/")[0])
    assert Counter(answers) == {"passed": limit, "refused": CALLS - limit}


def attempt(call: Call) -> str:
    try:
        take(action="a_race", rate=call["rate"], key="one buyer")
    except LimitReached:
        return "refused"
    return "passed"


def test_of_200_parallel_calls_for_passes_exactly_as_many_get_one_as_the_limit_allows(racers: RacingProcesses) -> None:
    answers = racers.race(ask_for_pass, [{"rate": "5/minute"}] * CALLS)
    assert Counter(answers) == {"passed": 5, "refused": CALLS - 5}


def ask_for_pass(call: Call) -> str:
    settings.PASS_LIMIT = call["rate"]
    try:
        pass_body(sale=Sale(pk=1, closes_at=timezone.now()), item_id=1, buyer_id=1, network="192.0.2.1")
    except LimitReached:
        return "refused"
    return "passed"
