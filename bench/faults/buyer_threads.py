"""The buyers of one trial, each in a thread."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from bench.faults.buyer_journey import Demand, behaviour_from, journey
from bench.faults.fault import TrialContext
from bench.faults.shopping.shopping_trip import choose_units, shopping_trip
from bench.faults.trial_sale import Credentials
from bench.faults.wire.http_client import CALL_SECONDS_MAX

# The work of one thread; called with `started_s` and `stop`.
Journey = Callable[..., None]


class BuyerThreads:
    """Buyers who arrive one after the other and end when they are done, or after `stop`."""

    def __init__(self, *, trial: str, journeys: Sequence[Journey], demand: Demand) -> None:
        self._stop = threading.Event()
        # By then even the last of them should be done.
        self.seconds_max = 4 * demand.retry_seconds_max + demand.arrival_seconds + CALL_SECONDS_MAX
        started_s = time.monotonic()
        self._threads = [
            threading.Thread(
                target=journey,
                kwargs={"started_s": started_s, "stop": self._stop},
                name=f"{trial}-{number}",
                daemon=True,
            )
            for number, journey in enumerate(journeys)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def all_done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """No buyer starts another call; `all_done` becomes true when the calls under way have ended."""
        self._stop.set()


def sale_journeys(context: TrialContext, *, demand: Demand, credentials: Sequence[Credentials]) -> list[Journey]:
    """Those of the buyers in the trial's sale."""
    return [
        partial(journey, client, behaviour_from(demand, context.rng), item_id=context.item.pk)
        for client in context.buyers(credentials)
    ]


def shopping_trips(context: TrialContext, *, demand: Demand) -> list[Journey]:
    """Those of the buyers in the ordinary shop."""
    trips: list[Journey] = []
    for client in context.shoppers(count=demand.shoppers):
        behaviour = behaviour_from(demand, context.rng)
        units_of = choose_units(behaviour, skus=context.goods.skus, rng=context.rng)
        trips.append(partial(shopping_trip, client, behaviour, units_of=units_of))
    return trips
