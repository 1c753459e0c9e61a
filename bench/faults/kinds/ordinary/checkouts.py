"""Checkouts of the ordinary shop: a web process dies in one, or two buyers want the last unit at the same moment."""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.db import connection, transaction

from bench.faults.buyer_journey import Demand
from bench.faults.checker import EXAMPLES_MAX
from bench.faults.fault import Fault, Part
from bench.faults.kinds.processes import DiesAtFailpoint
from bench.faults.shopping.goods import Shelf
from bench.faults.shopping.shopper_client import ShopperClient
from bench.faults.wire.http_client import Answer
from orders.cart.cart_holder import Holder, open_cart
from orders.cart.cart_lines import replace_lines
from shop.models import Variant

RACES = 1_000
# So many products are raced for at once: enough to keep two cores busy, few enough that no call waits long.
LANES = 6
SECONDS_MAX = 600.0
BARRIER_SECONDS_MAX = 30.0
# One of the two is told yes, the other that the stock has changed.
FAIR = {"ordered": 1, "stock_changed": 1}
HELD_ONCE = (0, 1, 0)


class DiesInCheckout(DiesAtFailpoint):
    """More units are wanted than there are: of a product each, and of two products in any order."""

    visits_max = 6
    demand = Demand(buyers=20, shoppers=60, retry_seconds_max=10.0)
    shelf = Shelf(products=4, units=25)
    disturbs = frozenset({Part.WEB})
    needs = frozenset({Part.POSTGRES})


class CheckoutKilledBeforeCommit(DiesInCheckout):
    name = "checkout-killed-before-commit"
    description = "a web process dies when an ordinary order is written and not committed"
    failpoint = "checkout.before_commit"


class CheckoutKilledAfterCommit(DiesInCheckout):
    name = "checkout-killed-after-commit"
    description = "a web process dies after the commit of an ordinary order, before it answers the buyer"
    failpoint = "checkout.after_commit"


@dataclass(frozen=True, slots=True)
class Race:
    """The answers to the two, when each call was sent and answered, by the monotonic clock, and the stock after it."""

    answers: Sequence[Answer]
    stock: tuple[int, int, int]
    times: Sequence[tuple[float, float]]

    @property
    def met(self) -> bool:
        """Whether both calls were under way at once."""
        return max(sent for sent, _ in self.times) < min(answered for _, answered in self.times)


class LastUnits(Fault):
    """Each product has one unit. The two use different web processes, and leave a barrier together."""

    name = "last-unit-twice"
    description = f"two buyers check out the last unit of a product at once, {RACES:,} times"
    duration_seconds = 0.0
    demand = Demand(buyers=0)
    shelf = Shelf(products=RACES, units=1)

    def inject(self) -> None:
        variant_ids = [*self.context.goods.variant_ids.values()]
        rivals = self.context.shoppers(count=2 * LANES)
        stop = threading.Event()
        with ThreadPoolExecutor(LANES) as pool:
            lanes = [
                pool.submit(run_lane, rivals[2 * lane : 2 * lane + 2], variant_ids[lane::LANES], stop)
                for lane in range(LANES)
            ]
            try:
                self.shop.wait_until(lambda: all(lane.done() for lane in lanes), seconds_max=SECONDS_MAX)
            finally:
                stop.set()
        self._races = [race for lane in lanes for race in lane.result()]
        met = sum(race.met for race in self._races)
        self.variant = f"{len(self._races)} races, {met} with both calls at once"
        self.happened = len(self._races) == RACES and met > RACES / 2

    def violations(self) -> Sequence[str]:
        unfair = [race for race in self._races if Counter(answer.outcome for answer in race.answers) != FAIR]
        errors = sum(answer.is_unknown for race in self._races for answer in race.answers)
        counts = {
            "races did not end with one yes and one stock_changed": len(unfair),
            "calls in a race were answered 5xx or not at all": errors,
            "last units were not held once after the race": sum(race.stock != HELD_ONCE for race in self._races),
        }
        found = [f"{count} {what}" for what, count in counts.items() if count]
        return found + [f"for example {[answer.outcome for answer in race.answers]}" for race in unfair[:EXAMPLES_MAX]]


def run_lane(rivals: Sequence[ShopperClient], variant_ids: Sequence[int], stop: threading.Event) -> list[Race]:
    """Race for one product after the other, until all are sold or the time is up."""
    races: list[Race] = []
    with ThreadPoolExecutor(len(rivals)) as pool:
        for variant_id in variant_ids:
            if stop.is_set():
                break
            barrier = threading.Barrier(len(rivals))
            calls = [pool.submit(buy, rival.with_new_key(), variant_id, barrier) for rival in rivals]
            results = [call.result() for call in calls]
            answers, times = [answer for answer, _ in results], [seconds for _, seconds in results]
            races.append(Race(answers, stock_of(variant_id), times))
    return races


def stock_of(variant_id: int) -> tuple[int, int, int]:
    """Available, held and sold. Read at once: an order is held for a minute only."""
    try:
        return Variant.objects.values_list("available", "held", "sold").get(pk=variant_id)
    finally:
        connection.close()


def fill_cart(client: ShopperClient, variant_id: int) -> None:
    """By a function call: only the checkouts race."""
    try:
        with transaction.atomic():
            cart = open_cart(Holder(buyer_id=client.credentials.buyer_id))
            replace_lines(cart=cart, units_of={Variant.objects.get(pk=variant_id): 1})
    finally:
        connection.close()


def buy(client: ShopperClient, variant_id: int, barrier: threading.Barrier) -> tuple[Answer, tuple[float, float]]:
    fill_cart(client, variant_id)
    barrier.wait(timeout=BARRIER_SECONDS_MAX)
    sent_s = time.monotonic()
    answer = client.check_out(units=1)
    return answer, (sent_s, time.monotonic())
