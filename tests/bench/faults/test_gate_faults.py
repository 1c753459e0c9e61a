"""The faults of the gate prove something only if passes that had a yes are used while the store is away."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.faults.fault import TrialContext
from bench.faults.kinds.gates import GateFault
from bench.faults.wire.http_client import Answer

YES, NO = Answer(outcome="reserved", status=201), Answer(outcome="held_by_others", status=409)
AWAY = Answer(outcome="unavailable", status=503)


class Repeater:
    def __init__(self, shop: Any, first_answer: Answer) -> None:
        self._shop, self._answer = shop, first_answer

    def reserve(self, *, item_id: int, units: int, attempt: int = 0) -> Answer:
        return AWAY if self._shop.away else self._answer


class Killed(GateFault):
    def begin(self) -> None:
        cast(Any, self.shop).away = self.kills

    def end(self) -> None:
        cast(Any, self.shop).away = False

    kills = True


class Survived(Killed):
    kills = False


def took_effect(kind: type[GateFault], *, first_answer: Answer) -> bool:
    shop = SimpleNamespace(away=False, wait=lambda seconds: None)
    context = SimpleNamespace(
        shop=shop,
        rng=None,
        item=SimpleNamespace(pk=1),
        ports=[1, 1],
        extra_buyer=lambda name, number: Repeater(shop, first_answer),
    )
    fault = kind(cast(TrialContext, context))
    fault.inject()
    fault.undo()
    fault.violations()
    return fault.took_effect()


@pytest.mark.parametrize(
    ("kind", "first_answer", "expected"),
    [(Killed, YES, True), (Killed, NO, False), (Survived, YES, False)],
    ids=["away", "without a yes", "never away"],
)
def test_it_took_effect_if_passes_with_a_yes_were_used_while_the_store_was_away(
    kind: type[GateFault], first_answer: Answer, expected: bool
) -> None:
    assert took_effect(kind, first_answer=first_answer) is expected
