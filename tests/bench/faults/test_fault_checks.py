"""Faults with checks of their own name answers that were wrong, came late or never came."""

import threading
import time
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import cast

from bench.faults.buyer_journey import Demand
from bench.faults.fault import TrialContext
from bench.faults.kinds.gates import GateStoreFrozen
from bench.faults.kinds.processes import SAME_PASS_TIMES, SamePassManyTimes
from bench.faults.trial import BuyerThreads
from bench.faults.wire.http_client import Answer
from shop.local.ports import free_port
from tests.processes import wait_until

FIRST, AGAIN = Answer(outcome="reserved", status=201), Answer(outcome="already_reserved", status=201)
NO = Answer(outcome="held_by_others", status=409)


def after(answers: Sequence[Answer]) -> SamePassManyTimes:
    """The fault, once its calls got these answers, and the last one for all the rest."""
    rest, lock = list(answers), threading.Lock()

    def reserve(**_call: int) -> Answer:
        with lock:
            return rest.pop(0) if len(rest) > 1 else rest[0]

    buyer = SimpleNamespace(reserve=reserve)
    context = SimpleNamespace(shop=None, rng=None, item=SimpleNamespace(pk=1), extra_buyer=lambda *_, **__: buyer)
    fault = SamePassManyTimes(cast(TrialContext, context))
    fault.inject()
    return fault


def test_one_yes_and_its_repetitions_are_right_and_a_second_first_answer_or_a_refusal_beside_it_is_named() -> None:
    right = after([FIRST, AGAIN])
    assert right.took_effect()
    assert not right.violations()
    # Also if the first answer was lost.
    assert after([AGAIN, NO]).violations() == ["calls with one pass were told already_reserved, held_by_others"]
    two_firsts = f"2 of {SAME_PASS_TIMES} calls with one pass were answered as the first"
    assert after([FIRST, FIRST, AGAIN]).violations() == [two_firsts]
    # Calls that all got nothing prove nothing.
    assert not after([NO]).took_effect()


def test_a_page_that_got_no_answer_while_the_store_was_frozen_is_named() -> None:
    buyer = SimpleNamespace(reserve=lambda **_: FIRST)
    item, ports = SimpleNamespace(pk=1), [free_port(), free_port()]
    context = SimpleNamespace(shop=None, rng=None, item=item, ports=ports, extra_buyer=lambda *_, **__: buyer)
    fault = GateStoreFrozen(cast(TrialContext, context))
    fault._frozen_s = time.monotonic() - 60
    fault._threads[0].start()
    wait_until(lambda: bool(fault._polls), seconds_max=20)
    fault._thawed_s = time.monotonic() + 60
    fault._repeaters = []
    fault._threads = fault._threads[:1]
    assert any("a page" in violation for violation in fault.violations())


def test_a_buyer_who_ends_with_an_error_is_named() -> None:
    def buy(number: int, *, started_s: float, stop: threading.Event) -> None:
        if number:
            raise KeyError("receipt")

    buyers = BuyerThreads(trial="trial", journeys=[partial(buy, number) for number in range(3)], demand=Demand())
    buyers.start()
    wait_until(buyers.all_done, seconds_max=20)
    assert buyers.errors() == ["2 buyers ended with an error, such as KeyError('receipt')"]
