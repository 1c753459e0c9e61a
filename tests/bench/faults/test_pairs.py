"""Pairs of faults: which can be combined, that the seed draws them, and when each of the two is undone."""

from collections.abc import Callable
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.core.management import CommandError

from bench.faults.all_faults import BY_NAME, FAULTS
from bench.faults.fault import Fault, Part
from bench.faults.kinds.data_loss import StoreFlushed
from bench.faults.kinds.payments import WebhookLateRefund
from bench.faults.kinds.processes import BeatDown, WebKilled
from bench.faults.kinds.store_outages import StoreDown, StoreKilled
from bench.faults.pairs import can_be_combined, draw_pairs, kind_named, pair_of
from bench.management.commands.fault_harness import PAIRS, kinds_named
from seckill.models import LatePayment
from tests.steps.operating import run_command


def test_the_seed_draws_pairs_that_are_named_for_both_and_can_be_run_again_by_their_names() -> None:
    drawn = [pair.name for pair in draw_pairs(seed=7, count=6)]
    assert len(set(drawn)) == 6
    assert drawn == [kind.name for kind in kinds_named([PAIRS], seed=7, pairs=6)]
    assert drawn != [pair.name for pair in draw_pairs(seed=8, count=6)]
    for pair in draw_pairs(seed=7, count=50):
        first, second = pair.name.split("+")
        assert BY_NAME[first].description in pair.description
        assert BY_NAME[second].description in pair.description
        again = kind_named(pair.name)
        assert again is not None
        assert again.name == pair.name
    # A run of none would hold.
    with pytest.raises(CommandError, match="--pairs"):
        run_command("fault_harness", "--only", PAIRS, "--pairs", "0")


def test_faults_that_disturb_the_same_part_or_what_the_other_needs_are_not_combined() -> None:
    assert can_be_combined(WebKilled, StoreKilled)
    assert not can_be_combined(StoreKilled, StoreDown)
    assert not can_be_combined(StoreKilled, StoreKilled)
    # It does not declare what it disturbs.
    assert not can_be_combined(Fault, StoreKilled)
    # What PostgreSQL had before the loss must be asked.
    assert not can_be_combined(StoreFlushed, BY_NAME["postgres-down"])
    # Its people join while PostgreSQL would be read-only.
    assert not can_be_combined(BY_NAME["store-killed-in-room"], BY_NAME["postgres-read-only"])
    # It opens a sale of its own kind, which no pair does.
    own_sale = [kind for kind in FAULTS if kind.open_item.__func__ is not Fault.open_item.__func__]  # type: ignore[attr-defined]
    assert own_sale
    assert not any(can_be_combined(kind, other) for kind in own_sale for other in FAULTS)
    assert kind_named("store-killed+store-down") is None
    assert kind_named("store-killed+no-such-fault") is None


def test_every_part_is_disturbed_in_some_pair() -> None:
    possible = [pair for pair in combinations(FAULTS, 2) if can_be_combined(*pair)]
    assert {part for pair in possible for kind in pair for part in kind.disturbs} == set(Part)


def test_a_pair_has_the_buyers_and_units_of_both_and_what_is_special_of_either() -> None:
    pair = pair_of(WebhookLateRefund, StoreDown)
    assert pair.demand.buyers == WebhookLateRefund.demand.buyers + StoreDown.demand.buyers
    assert pair.stock.quantity == WebhookLateRefund.stock.quantity + StoreDown.stock.quantity
    assert pair.stock.late_payment == LatePayment.REFUND
    assert pair.demand.deliveries == ("late",)


class RecordedShop:
    """Does at `wait_until` what was planned, in the order of its time."""

    def __init__(self) -> None:
        self.planned: list[tuple[float, Callable[[], object]]] = []

    def do_later(self, seconds: float, action: Callable[[], object]) -> None:
        self.planned.append((seconds, action))

    def wait_until(self, happened: Callable[[], bool], *, seconds_max: float) -> bool:
        for _seconds, action in sorted(self.planned, key=lambda planned: planned[0]):
            action()
        self.planned.clear()
        return happened()


def test_both_are_injected_before_either_is_undone_and_the_pair_finds_what_either_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[str] = []
    for kind, step in product((BeatDown, StoreFlushed), ("inject", "undo")):
        monkeypatch.setattr(kind, step, lambda fault, step=step: steps.append(f"{step} {fault.name}"))
    pair = cast(Any, pair_of(StoreFlushed, BeatDown)(cast(Any, SimpleNamespace(shop=RecordedShop(), rng=None))))
    pair.inject()
    # A loss of data is that of the pair.
    pair._faults[1].data_lost_s, pair._faults[1].orders_before_loss = 5.0, {"a"}
    pair.undo()
    assert steps == ["inject beat-down", "inject store-flushall", "undo store-flushall", "undo beat-down"]
    assert (pair.data_lost_s, pair.orders_before_loss) == (5.0, {"a"})
    assert pair.took_effect()
    monkeypatch.setattr(BeatDown, "violations", lambda fault: ["beat is late"])
    monkeypatch.setattr(StoreFlushed, "took_effect", lambda fault: False)
    assert pair.violations() == ["beat is late", "store-flushall did not take effect"]
    assert not pair.took_effect()
