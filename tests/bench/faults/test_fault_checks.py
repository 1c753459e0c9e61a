"""Fifty calls with one pass: all get the one yes, and without a yes the trial proves nothing."""

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from bench.faults.fault import TrialContext
from bench.faults.kinds.processes import SAME_PASS_TIMES, SamePassManyTimes
from bench.faults.wire.http_client import Answer

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
