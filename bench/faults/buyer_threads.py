"""The buyers of one trial, each in a thread."""

import random
import threading
import time
from collections.abc import Sequence

from bench.faults.buyer_journey import Demand, behaviour_from, journey
from bench.faults.history import History
from bench.faults.http_client import CALL_SECONDS_MAX, BuyerClient
from bench.faults.trial_sale import Credentials


class BuyerThreads:
    """Buyers who arrive one after the other and end when they are done, or after `stop`."""

    def __init__(
        self,
        *,
        trial: str,
        item_id: int,
        credentials: Sequence[Credentials],
        demand: Demand,
        ports: Sequence[int],
        history: History,
        rng: random.Random,
    ) -> None:
        self._stop = threading.Event()
        # By then even the last of them should be done.
        self.seconds_max = 4 * demand.retry_seconds_max + demand.arrival_seconds + CALL_SECONDS_MAX
        started_s = time.monotonic()
        self._threads = [
            threading.Thread(
                target=journey,
                args=(
                    BuyerClient(
                        trial=trial,
                        name=f"buyer-{number}",
                        credentials=of_buyer,
                        ports=ports if number % 2 else ports[::-1],
                        history=history,
                    ),
                    behaviour_from(demand, rng),
                ),
                kwargs={"item_id": item_id, "started_s": started_s, "stop": self._stop},
                name=f"{trial}-{number}",
                daemon=True,
            )
            for number, of_buyer in enumerate(credentials)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def all_done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """No buyer starts another call; `all_done` becomes true when the calls under way have ended."""
        self._stop.set()
