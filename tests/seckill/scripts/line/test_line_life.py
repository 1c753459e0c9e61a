"""An item with a waiting list under everything that can happen to it, in any order, beside a model: a plain list.

`PROPERTY_EXAMPLES=2000 make test ARGS="tests/seckill/scripts/line/test_line_life.py"` tries more.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from seckill import ledger
from seckill.ledger_words import Confirmed, Departed, HandedOn, Joined, Released, ReleaseReason
from seckill.line import line_ledger
from seckill.outcomes import Outcome
from tests.seckill.checked_item import ITEM_ID, CheckedItem

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "40"))
LIMIT = 3
BUYERS = st.integers(1, 5)
UNITS = st.integers(1, LIMIT)
HANDS_ON = st.sampled_from([True, True, False])


@dataclass
class Hold:
    state: str
    buyer: int
    units: int


@dataclass
class Model:
    """`waiting` are buyer, units and id, in the order in which they came."""

    left: int
    paused: bool = False
    holds: dict[UUID, Hold] = field(default_factory=dict)
    waiting: list[tuple[int, int, UUID]] = field(default_factory=list)

    def units_in(self, *states: str) -> int:
        return sum(hold.units for hold in self.holds.values() if hold.state in states)

    def of_buyer(self, buyer: int) -> int:
        return sum(hold.units for hold in self.holds.values() if hold.buyer == buyer and hold.state != "ended")

    @property
    def kept_for_the_line(self) -> bool:
        return any(units <= self.left for _, units, _ in self.waiting)

    def refusal(self, buyer: int, units: int) -> Outcome | None:
        if self.paused:
            return Outcome.PAUSED
        if not self.left and not self.units_in("held"):
            return Outcome.SOLD_OUT
        if not self.left or self.kept_for_the_line:
            return Outcome.HELD_BY_OTHERS
        if self.of_buyer(buyer) + units > LIMIT:
            return Outcome.LIMIT_REACHED
        return Outcome.TOO_FEW_LEFT if self.left < units else None

    def hold(self, reservation_id: UUID, buyer: int, units: int) -> None:
        self.holds[reservation_id] = Hold("held", buyer, units)
        self.left -= units

    def hand_on(self, people_max: int = 10) -> HandedOn:
        if self.paused:
            return HandedOn.PAUSED
        if not self.kept_for_the_line:
            return HandedOn.NOBODY_FITS
        for _ in range(people_max):
            first = next((place for place in self.waiting if place[1] <= self.left), None)
            if first is None:
                break
            self.waiting.remove(first)
            buyer, units, reservation_id = first
            if self.of_buyer(buyer) + units <= LIMIT and reservation_id not in self.holds:
                self.hold(reservation_id, buyer, units)
        return HandedOn.HANDED_ON


class LineMachine(RuleBasedStateMachine):
    item: ClassVar[CheckedItem]

    @initialize(quantity=st.integers(1, 5), first=st.lists(st.tuples(BUYERS, UNITS), max_size=4))
    def publish(self, quantity: int, first: list[tuple[int, int]]) -> None:
        self.item.client.flushall()
        self.item.publish_with_line(quantity=quantity, per_buyer_max=LIMIT)
        self.model, self.quantity = Model(left=quantity), quantity
        for buyer, units in first:
            self.reserve(buyer, units)

    @rule(buyer=BUYERS, units=UNITS)
    def reserve(self, buyer: int, units: int) -> None:
        reservation_id, expected = self.item.new_id(), self.model.refusal(buyer, units)
        assert self.item.reserve(reservation_id, buyer=buyer, units=units).outcome == (expected or Outcome.RESERVED)
        if expected is None:
            self.model.hold(reservation_id, buyer, units)

    @rule(buyer=BUYERS, units=UNITS)
    def reserve_with_the_pass_of_a_place(self, buyer: int, units: int) -> None:
        place = next((place for place in self.model.waiting if place[0] == buyer), None)
        if place and place[2] not in self.model.holds:
            expected = self.model.refusal(buyer, units)
            assert self.item.reserve(place[2], buyer=buyer, units=units).outcome == (expected or Outcome.RESERVED)
            if expected is None:
                self.model.hold(place[2], buyer, units)

    @rule(buyer=BUYERS, units=UNITS)
    def join(self, buyer: int, units: int) -> None:
        model, reservation_id = self.model, self.item.new_id()
        if any(place[0] == buyer for place in model.waiting):
            expected = Joined.ALREADY_WAITING
        elif model.paused:
            expected = Joined.PAUSED
        elif model.of_buyer(buyer) + units > LIMIT:
            expected = Joined.LIMIT_REACHED
        else:
            is_free = model.left >= units and not model.kept_for_the_line
            expected = Joined.UNITS_LEFT if is_free else Joined.JOINED
        assert self.item.join(reservation_id, buyer=buyer, units=units).word is expected
        if expected is Joined.JOINED:
            model.waiting.append((buyer, units, reservation_id))

    @rule(buyer=BUYERS)
    def leave(self, buyer: int) -> None:
        place = next((place for place in self.model.waiting if place[0] == buyer), None)
        expected = Departed.LEFT_LINE if place else Departed.NOT_WAITING
        assert self.item.leave(place[2] if place else self.item.new_id(), buyer=buyer) is expected
        if place:
            self.model.waiting.remove(place)

    @rule(data=st.data(), hands_on=HANDS_ON, reason=st.sampled_from(list(ReleaseReason)))
    def release(self, data: Any, hands_on: bool, reason: ReleaseReason) -> None:
        if not self.model.holds:
            return
        reservation_id = data.draw(st.sampled_from(list(self.model.holds)))
        hold = self.model.holds[reservation_id]
        with self.item.unguarded():
            answer = self.item.release(reservation_id, reason, handing_on=hands_on)
        if hold.state == "ended":
            assert answer is Released.ALREADY_RELEASED
        elif hold.state == "sold" and reason is not ReleaseReason.REFUNDED:
            assert answer is Released.ALREADY_CONFIRMED
        else:
            assert answer is Released.RELEASED
            self.model.left += hold.units
            hold.state = "ended"
        if hands_on:
            self.model.hand_on()

    @rule(data=st.data())
    def pay(self, data: Any) -> None:
        held = [reservation_id for reservation_id, hold in self.model.holds.items() if hold.state == "held"]
        if held:
            reservation_id = data.draw(st.sampled_from(held))
            assert self.item.confirm(reservation_id) is Confirmed.CONFIRMED
            self.model.holds[reservation_id].state = "sold"

    @rule(units=st.integers(1, 4), hands_on=HANDS_ON)
    def add(self, units: int, hands_on: bool) -> None:
        self.change(ledger.Adjustment(units=units), hands_on=hands_on)
        self.model.left += units
        self.quantity += units
        if hands_on:
            self.model.hand_on()

    @rule(paused=st.booleans())
    def pause_or_resume(self, paused: bool) -> None:
        self.change(ledger.Adjustment(state="paused" if paused else "open"), hands_on=True)
        self.model.paused = paused
        self.model.hand_on()

    def change(self, wanted: ledger.Adjustment, *, hands_on: bool) -> None:
        then = line_ledger.handing_on(ITEM_ID) if hands_on else None
        ledger.adjust(item_id=ITEM_ID, operation_id=self.item.new_id(), adjustment=wanted, then=then)

    @rule(people_max=st.integers(1, 10))
    def sweep(self, people_max: int) -> None:
        assert self.item.hand_on(people_max=people_max) is self.model.hand_on(people_max)

    @rule()
    def open_again(self) -> None:
        """As after a rebuild."""
        self.item.client.hdel(self.item.keys.item, "waiting_list", "smallest_waiting")
        self.item.open_line()

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        item, model = self.item, self.model
        left, held, sold = item.counters()
        assert (left, held, sold) == (str(model.left), str(model.units_in("held")), str(model.units_in("sold")))
        assert model.left + model.units_in("held", "sold") == self.quantity
        found = Counter[str]({buyer: int(units) for buyer, units in item.buyers().items()})
        assert found == {str(buyer): model.of_buyer(buyer) for buyer in range(1, 6) if model.of_buyer(buyer)}
        assert item.line() == [str(buyer) for buyer, _, _ in model.waiting]
        item.check_invariants()
        item.check_line()


def test_whatever_happens_the_line_is_a_line(checked_item: CheckedItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LineMachine, "item", checked_item, raising=False)
    chosen = settings(
        max_examples=EXAMPLES,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(LineMachine, settings=chosen)
