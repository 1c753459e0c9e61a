"""So many reservations wait to become orders that the shop promises no more; afterwards it goes on by itself."""

from collections.abc import Sequence

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, TrialContext
from bench.faults.shop_under_test import WEBS
from bench.faults.trial_sale import Stock
from bench.faults.wire.http_client import request
from seckill.store.keys import keys_of

LIMIT = 12
FULL_SECONDS_MAX = 15.0
# How often it is looked while no worker is there, with so long between.
LOOKS = 40
LOOK_SECONDS = 0.15
BACK_SECONDS_MAX = 15.0


class BacklogFull(Fault):
    """The web processes have a small SECKILL_BACKLOG_MAX. One buyer has a yes before, another one comes meanwhile."""

    name = "backlog-full"
    description = (
        f"no worker, and {LIMIT} reservations that wait are the most: new buyers are told unavailable, nobody is lost"
    )
    starts_after_seconds = (0.0, 0.2)
    duration_seconds = 0.0
    stock = Stock(quantity=400, hold_seconds=30)
    # Stopping and starting web processes takes some seconds too.
    demand = Demand(buyers=90, arrival_seconds=22.0, retry_seconds_max=12.0)
    refusals_are_timed = True

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._early = context.extra_buyer("early", number=1)
        self._newcomer = context.extra_buyer("newcomer", number=2)
        self._wrong: list[str] = []
        self._lengths = [0]
        self._is_back = False

    def inject(self) -> None:
        # Before: buyers who have waited for the new web processes may fill the backlog for a moment.
        if self._early.reserve(item_id=self.context.item.pk, units=1).status != 201:
            self._wrong.append("the first buyer was refused before anything was wrong")
        self.shop.restart(*WEBS, more={"SECKILL_BACKLOG_MAX": str(LIMIT)})
        self.shop.await_answers(*WEBS)
        self.shop.keep_down("worker")
        if self.shop.wait_until(lambda: self._length() >= LIMIT, seconds_max=FULL_SECONDS_MAX):
            for look in range(LOOKS):
                self._look(look)
                self.shop.wait(LOOK_SECONDS)

    def _look(self, attempt: int) -> None:
        """The answers that buyers get while the outbox is full."""
        item_id = self.context.item.pk
        self._lengths.append(self._length())
        again = self._early.reserve(item_id=item_id, units=1, attempt=attempt)
        if again.status != 201:
            self._wrong.append(f"who had a yes was told {again.outcome}")
        new = self._newcomer.reserve(item_id=item_id, units=1, attempt=attempt)
        if new.outcome != "unavailable":
            self._wrong.append(f"a new buyer was told {new.outcome}")
        port = self.context.ports[attempt % len(WEBS)]
        live = request(port, "GET", f"/api/v1/sale-items/{item_id}/live/").json_object
        if live.get("availability") != "unavailable":
            self._wrong.append(f"live said {live.get('availability')}")

    def undo(self) -> None:
        self.shop.bring_up("worker")
        self._is_back = self.shop.wait_until(self._sells, seconds_max=BACK_SECONDS_MAX)
        self.shop.restart(*WEBS)

    def took_effect(self) -> bool:
        return max(self._lengths) >= LIMIT

    def violations(self) -> Sequence[str]:
        self.variant = f"{max(self._lengths)} reservations waited, {LOOKS} looks"
        violations = list(dict.fromkeys(self._wrong))
        if max(self._lengths) > LIMIT:
            violations.append(f"{max(self._lengths)} reservations waited, which is more than {LIMIT}")
        if not self._is_back:
            violations.append(f"the new buyer got no yes within {BACK_SECONDS_MAX:.0f} s after the worker was back")
        return violations

    def _sells(self) -> bool:
        return self._newcomer.reserve(item_id=self.context.item.pk, units=1).status == 201

    def _length(self) -> int:
        return int(self.shop.store_client().xlen(keys_of(self.context.item.pk).outbox))
