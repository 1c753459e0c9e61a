"""Two faults at once, during one load. Which ones is drawn by the seed, and the same promises are checked.

Faults that disturb the same part are not combined: the second would hide the first, or undo it. Nor is a fault combined
with one that disturbs what it needs. Each fault declares both (`Fault.disturbs`, `Fault.needs`).
"""

import random
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import ClassVar

from bench.faults.all_faults import BY_NAME, FAULTS
from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, TrialContext
from bench.faults.shopping.goods import Shelf
from bench.faults.trial_sale import Stock

# Stands between the names of the two.
AND = "+"
# No fault of a pair lasts longer.
UNDONE_SECONDS_MAX = 30.0


class FaultPair(Fault):
    """Injects the first fault, then the second while the first one lasts; each lasts as long as it does alone."""

    kinds: ClassVar[tuple[type[Fault], type[Fault]]]
    # Each fault of the pair is undone after its own time.
    duration_seconds = 0.0

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._faults = [kind(context) for kind in self.kinds]
        self._lasting = list(self._faults)

    def inject(self) -> None:
        for fault in self._faults:
            fault.inject()
            # The second may wait for its moment longer than the first lasts.
            self.shop.do_later(fault.duration_seconds, partial(self._undo, fault))

    def _undo(self, fault: Fault) -> None:
        self._lasting.remove(fault)
        fault.undo()

    def undo(self) -> None:
        self.shop.wait_until(lambda: not self._lasting, seconds_max=UNDONE_SECONDS_MAX)
        for fault in self._faults:
            if fault.data_lost_s is not None:
                self.data_lost_s, self.orders_before_loss = fault.data_lost_s, fault.orders_before_loss

    def took_effect(self) -> bool:
        return not self._lasting and all(fault.took_effect() for fault in self._faults)

    def violations(self) -> Sequence[str]:
        found = [violation for fault in self._faults for violation in fault.violations()]
        found += [f"{fault.name} did not take effect" for fault in self._faults if not fault.took_effect()]
        self.variant = "; ".join(fault.variant for fault in self._faults if fault.variant)
        return found


def can_be_combined(one: type[Fault], other: type[Fault]) -> bool:
    """Whether neither disturbs what the other disturbs or needs."""
    if one is other or not one.disturbs or not other.disturbs:
        return False
    return not (one.disturbs & (other.disturbs | other.needs) or other.disturbs & one.needs)


def draw_pairs(*, seed: int, count: int) -> list[type[FaultPair]]:
    """So many different pairs; the same seed draws the same ones."""
    possible = [pair for pair in combinations(FAULTS, 2) if can_be_combined(*pair)]
    drawn = random.Random(f"{seed}/pairs").sample(possible, min(count, len(possible)))
    return [pair_of(*pair) for pair in drawn]


def pair_of(one: type[Fault], other: type[Fault]) -> type[FaultPair]:
    """Both at once. The one that lasts longer comes first. There are buyers and units for both of them."""
    first, second = sorted((one, other), key=lambda kind: (-kind.duration_seconds, kind.name))

    class Pair(FaultPair):
        kinds = (first, second)
        name = f"{first.name}{AND}{second.name}"
        description = f"at once: {first.description}; and {second.description}"
        starts_after_seconds = (
            max(first.starts_after_seconds[0], second.starts_after_seconds[0]),
            max(first.starts_after_seconds[1], second.starts_after_seconds[1]),
        )
        stock = stock_for(first.stock, second.stock)
        demand = demand_for(first.demand, second.demand)
        shelf = shelf_for(first.shelf, second.shelf)
        refusals_are_timed = first.refusals_are_timed and second.refusals_are_timed
        quantity_moved = first.quantity_moved or second.quantity_moved

    return Pair


def stock_for(one: Stock, other: Stock) -> Stock:
    usual = Stock().late_payment
    return Stock(
        quantity=one.quantity + other.quantity,
        per_buyer_max=max(one.per_buyer_max, other.per_buyer_max),
        hold_seconds=max(one.hold_seconds, other.hold_seconds),
        late_payment=other.late_payment if one.late_payment == usual else one.late_payment,
    )


def demand_for(one: Demand, other: Demand) -> Demand:
    usual = Demand().deliveries
    return Demand(
        buyers=one.buyers + other.buyers,
        shoppers=one.shoppers + other.shoppers,
        arrival_seconds=one.arrival_seconds + other.arrival_seconds,
        units_max=max(one.units_max, other.units_max),
        retry_seconds_max=max(one.retry_seconds_max, other.retry_seconds_max),
        deliveries=other.deliveries if one.deliveries == usual else one.deliveries,
    )


def shelf_for(one: Shelf, other: Shelf) -> Shelf:
    return Shelf(products=max(one.products, other.products), units=one.units + other.units)


def kind_named(name: str) -> type[Fault] | None:
    """The fault, or the pair `one+other`, with this name; None if there is none."""
    first, found, second = name.partition(AND)
    if not found:
        return BY_NAME.get(name)
    one, other = BY_NAME.get(first), BY_NAME.get(second)
    return pair_of(one, other) if one and other and can_be_combined(one, other) else None
