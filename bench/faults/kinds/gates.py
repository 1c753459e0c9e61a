"""The store hangs or is killed while the gate refuses: buyers do not wait, and a repeated call gets the same yes."""

import math
import threading
import time
from collections.abc import Iterator, Sequence

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, TrialContext
from bench.faults.shop_under_test import WEBS
from bench.faults.trial_sale import Stock
from bench.faults.wire.http_client import request

# One timeout of a connection and one of an answer, and the same again for those who asked just before.
SETTLED_SECONDS = 4.0
ANSWER_SECONDS_MAX = 1.0
POLLERS = 8
POLL_SECONDS = 0.05
# Holds that last longer than the fault, so that those who had a yes still have it.
LONG_HOLD_STOCK = Stock(quantity=12, hold_seconds=18)
BACK_SECONDS_MAX = 15.0


class GateFault(Fault):
    """Open pages poll `live` all the time, and some buyers repeat their calls to every web process."""

    stock = LONG_HOLD_STOCK
    refusals_are_timed = True

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._stop = threading.Event()
        self._polls: list[tuple[float, float]] = []
        self._repeaters = [context.extra_buyer(f"repeater-{number}", number=number) for number in range(1, 4)]
        self._threads = [threading.Thread(target=self._poll, args=(number,)) for number in range(POLLERS)]
        # Before the other buyers come, who leave none.
        first_answers = [repeater.reserve(item_id=context.item.pk, units=1) for repeater in self._repeaters]
        self._all_told_yes = all(answer.status == 201 for answer in first_answers)

    def inject(self) -> None:
        for thread in self._threads:
            thread.start()
        # Everything is taken, so the gate refuses all others.
        self._repeat()
        self.shop.wait(2.0)

    def undo(self) -> None:
        # Those who had a yes ask while the store is away, and cannot be answered.
        self.happened = self._repeat() > 0 and self._all_told_yes

    def _poll(self, number: int) -> None:
        path = f"/api/v1/sale-items/{self.context.item.pk}/live/"
        port = self.context.ports[number % len(WEBS)]
        while not self._stop.wait(POLL_SECONDS):
            began_s = time.monotonic()
            answered = request(port, "GET", path).status == 200
            self._polls.append((began_s, time.monotonic() - began_s if answered else math.inf))

    def _repeat(self) -> int:
        """Returns how many of the calls could not be answered."""
        answers = [
            repeater.reserve(item_id=self.context.item.pk, units=1, attempt=attempt)
            for repeater in self._repeaters
            for attempt in range(2 * len(WEBS))
        ]
        return sum(answer.is_unknown for answer in answers)

    def violations(self) -> Sequence[str]:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._repeat()
        return ()


class GateStoreFrozen(GateFault):
    name = "gate-store-frozen"
    description = "the store is frozen for 10 s while pages poll and buyers ask: they are told so at once"
    duration_seconds = 10.0
    demand = Demand(arrival_seconds=12.0, retry_seconds_max=4.0)

    def inject(self) -> None:
        super().inject()
        self._frozen_s = time.monotonic()
        self.shop.freeze("store")

    def undo(self) -> None:
        super().undo()
        self._thawed_s = time.monotonic()
        self.shop.thaw("store")

    def violations(self) -> Sequence[str]:
        return [*super().violations(), *self._slow_answers()]

    def _slow_answers(self) -> Iterator[str]:
        """Polls that took long while the gate must have known that the store does not answer."""
        known_s = self._frozen_s + SETTLED_SECONDS
        seconds = [took for began_s, took in self._polls if known_s < began_s < self._thawed_s - ANSWER_SECONDS_MAX]
        self.variant = f"{len(seconds)} polls meanwhile, the slowest took {max(seconds, default=0):.2f} s"
        if not seconds:
            yield "no page was answered while the store was frozen"
        elif max(seconds) > ANSWER_SECONDS_MAX:
            # Endlessly, if it got no answer, or another one than the figures.
            yield f"a page waited {max(seconds):.1f} s although it was known that the store does not answer"


class GateStoreKilled(GateFault):
    name = "gate-store-killed"
    description = "kill -9 of the store, which is started again; those who had a yes repeat their calls"
    duration_seconds = 3.0
    demand = Demand(arrival_seconds=8.0)

    def inject(self) -> None:
        super().inject()
        self.shop.keep_down("store")

    def undo(self) -> None:
        super().undo()
        self.shop.bring_up("store")
        # It was restarted, so the item is compared with its orders first.
        self.happened &= self.shop.wait_until(self._sells, seconds_max=BACK_SECONDS_MAX)
        self._repeat()

    def _sells(self) -> bool:
        return not self._repeaters[0].reserve(item_id=self.context.item.pk, units=1).is_unknown
