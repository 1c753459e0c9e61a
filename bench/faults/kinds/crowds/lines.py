"""A sale with a waiting list, while its units come back: who was told a place keeps it, and nobody is passed over."""

import time
from collections.abc import Sequence

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, TrialContext
from bench.faults.kinds.processes import DiesAtFailpoint, ProcessKilled
from bench.faults.shopping.goods import Goods
from bench.faults.trial_sale import Stock, new_item
from orders.models import OrderLine
from orders.repair.audit import line_problems
from seckill.line.line_ledger import places_of
from seckill.models import Sale, SaleItem

# They let their holds expire, so units pass through several hands.
WAITERS = 12
JOIN_SECONDS_MAX = 20.0
RETRY_SECONDS = 0.1
SERVED_MIN = 3


class WithLine(Fault):
    """Fewer units than buyers, and people who wait for those that come back. They join before the fault begins.

    Not one of a pair, whose sale has no waiting list.
    """

    stock = Stock(quantity=12)
    demand = Demand(buyers=30, arrival_seconds=2.0, retry_seconds_max=3.0)
    starts_after_seconds = (2.5, 3.5)

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._waiters = [context.extra_buyer(f"waiter-{number}", number=number) for number in range(WAITERS)]
        # Those who were told a place, in the order in which they were: reservation id -> units.
        self._told: dict[str, int] = {}

    @classmethod
    def open_item(cls, stock: Stock, goods: Goods) -> SaleItem:
        item = new_item(cls.name, stock)
        Sale.objects.filter(pk=item.sale_id).update(waiting_list=True)
        return item

    def join(self) -> None:
        """One after the other, so that the order of their places is known."""
        give_up_s = time.monotonic() + JOIN_SECONDS_MAX
        for number, waiter in enumerate(self._waiters):
            units = 1 + number % 2
            for attempt in range(1_000):
                if waiter.join(item_id=self.context.item.pk, units=units, attempt=attempt).status == 201:
                    self._told[waiter.credentials.reservation_id] = units
                    break
                if time.monotonic() > give_up_s:
                    return
                time.sleep(RETRY_SECONDS)

    def took_effect(self) -> bool:
        return self.happened and len(self._served()) >= SERVED_MIN

    def violations(self) -> Sequence[str]:
        item_id, served = self.context.item.pk, self._served()
        self.variant = f"{len(served)} of {len(self._told)} in line got units"
        waiting = set()
        for waiter in self._waiters:
            place = places_of(item_ids=[item_id], buyer_id=waiter.credentials.buyer_id).get(item_id)
            waiting.add(str(place))
        wrong = [f"the place {name} was lost" for name in self._told if name not in served and name not in waiting]
        wrong += [f"{later} got units before {earlier}" for earlier, later in self._passed_over(served)]
        return [*wrong, *line_problems(item_id)]

    def _served(self) -> dict[str, float]:
        """When those who were told a place got their units."""
        lines = OrderLine.objects.filter(sale_item=self.context.item, order__reservation_id__in=list(self._told))
        found = lines.values_list("order__reservation_id", "order__reserved_at")
        return {str(reservation_id): reserved_at.timestamp() for reservation_id, reserved_at in found}

    def _passed_over(self, served: dict[str, float]) -> Sequence[tuple[str, str]]:
        never = float("inf")
        told = list(self._told.items())
        return [
            (earlier, later)
            for number, (earlier, few) in enumerate(told)
            for later, many in told[number + 1 :]
            if few <= many and served.get(earlier, never) > served.get(later, never)
        ]


class StoreKilledWhileLineMoves(WithLine, ProcessKilled):
    name = "store-killed-in-line"
    description = "kill -9 of the store, five times, while units go from hand to hand in a waiting list"
    target = "store"
    kills = 5
    pause_seconds = (0.8, 2.0)
    disturbs = frozenset()

    def inject(self) -> None:
        self.join()
        super().inject()


class KilledBeforeTheNextHold(WithLine, DiesAtFailpoint):
    name = "killed-before-next-hold"
    description = "a process dies after an order of a sale with a waiting list ended, before its units are handed on"
    failpoint = "lifecycle.after_commit"
    disturbs = frozenset()

    def inject(self) -> None:
        self.join()
        super().inject()
