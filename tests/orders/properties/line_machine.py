"""The machine with a waiting list: people join and leave, and units that come back are handed on.

What gives units back (cancels, expiries, refunds, added units, the end of a pause) hands them on in the same atom, in
the shop and in the model; `sweep_line` does the rest.
"""

from contextlib import suppress
from typing import Any
from unittest import mock
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import MultipleResults, multiple, rule

from orders.life import settlement
from orders.models import OrderStatus
from seckill.ledger_words import Joined
from seckill.line import line_ledger
from seckill.store.client import StoreUnreachable
from tests.orders.properties.sale_machine import BUYERS, UNITS, WANTED, SaleMachine, changeable, store_up


class LineMachine(SaleMachine):
    new_buyers = 0

    @changeable
    @rule(target=SaleMachine.taken_passes, buyer=BUYERS, units=UNITS)
    def join(self, buyer: int, units: int) -> tuple[str, int]:
        reservation = self.new_pass()
        self.ask_to_join(reservation, buyer, units)
        return reservation, buyer

    @changeable
    @rule(taken=SaleMachine.taken_passes, units=UNITS)
    def join_again(self, taken: tuple[str, int], units: int) -> None:
        """With a pass that was used, waits already, or was refused."""
        self.ask_to_join(*taken, units)

    def ask_to_join(self, reservation: str, buyer: int, units: int) -> None:
        ids: dict[str, Any] = {"item_id": self.world.item_id, "reservation_id": UUID(reservation)}
        try:
            answer = line_ledger.join_line(**ids, buyer_id=self.cast.buyer_ids[buyer], units=units)
        except StoreUnreachable:
            assert not self.model.store_is_up
            return
        assert self.model.store_is_up
        assert answer.word is self.model.join(reservation, buyer, units)
        if answer.word in (Joined.JOINED, Joined.ALREADY_WAITING):
            place = self.model.store.place_of(buyer)
            assert (str(answer.reservation_id), answer.units) == (place.reservation, place.units)

    @changeable
    @rule(target=SaleMachine.taken_passes, wanted=WANTED)
    def the_rest_is_sold_and_people_wait(self, wanted: list[int]) -> MultipleResults[tuple[str, int]]:
        """What is special to a line begins there. All of them are new."""
        if not self.model.terms.has_line:
            return multiple()
        rest = [(self.new_pass(), self.new_buyer()) for _ in range(self.model.store.left or 0)]
        for taken in rest:
            self.ask(*taken, 1)
        self.drain(500, False, "")
        late = [(self.new_pass(), self.new_buyer()) for _ in wanted]
        for taken, units in zip(late, wanted, strict=True):
            self.ask_to_join(*taken, min(units, self.model.terms.limit))
        return multiple(*rest, *late)

    def new_buyer(self) -> int:
        self.new_buyers += 1
        return len(self.cast.buyer_ids) - self.new_buyers

    @rule(taken=SaleMachine.taken_passes)
    def leave(self, taken: tuple[str, int]) -> None:
        reservation, buyer = taken
        ids: dict[str, Any] = {"item_id": self.world.item_id, "reservation_id": UUID(reservation)}
        with suppress(StoreUnreachable):
            answer = line_ledger.leave_line(**ids, buyer_id=self.cast.buyer_ids[buyer])
            assert self.model.store_is_up
            assert answer is self.model.store.leave(reservation, buyer)

    @changeable
    @rule(target=SaleMachine.taken_passes, wanted=WANTED)
    def older_release_cancels(self, wanted: list[int]) -> MultipleResults[tuple[str, int]]:
        """It knows nothing of waiting lists: the units lie idle until the sweep, but not for somebody new."""
        taken = self.the_rest_is_sold_and_people_wait(wanted).values
        unpaid = [name for name, order in self.model.orders.items() if order.status == OrderStatus.AWAITING_PAYMENT]
        with mock.patch.object(settlement, "then_hand_on", return_value=None):
            self.model.hands_on = False
            for name in unpaid[-1:]:
                self.cancel((name, self.model.orders[name].buyer), "")
            self.model.hands_on = True
        newcomer = self.new_pass(), self.new_buyer()
        self.ask(*newcomer, 1)
        return multiple(*taken, newcomer)

    @store_up
    @rule(people_max=st.integers(1, 3))
    def hand_on(self, people_max: int) -> None:
        """One small atom, as where many wait."""
        word = line_ledger.hand_on(item_id=self.world.item_id, people_max=people_max)
        assert word is self.model.hand_on(people_max)
