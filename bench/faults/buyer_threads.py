"""The buyers of one trial: a thread each, so that every journey reads from top to bottom."""

import random
import threading
import time
from collections.abc import Sequence

from bench.faults.buyer_journey import Demand, habits_from, journey
from bench.faults.history import History
from bench.faults.http_client import CALL_SECONDS_MAX, Caller
from bench.faults.trial_sale import Ticket


class Crowd:
    """Buyers that come one after the other and go when they are done, or when they are sent away."""

    def __init__(
        self,
        *,
        trial: str,
        item_id: int,
        tickets: Sequence[Ticket],
        demand: Demand,
        ports: Sequence[int],
        history: History,
        dice: random.Random,
    ) -> None:
        self._over = threading.Event()
        # After this long even the last and most patient of them should have gone.
        self.seconds_max = 4 * demand.patience_seconds + demand.arrival_seconds + CALL_SECONDS_MAX
        started_s = time.monotonic()
        self._threads = [
            threading.Thread(
                target=journey,
                args=(
                    Caller(
                        trial=trial,
                        client=f"buyer-{number}",
                        ticket=ticket,
                        ports=ports if number % 2 else ports[::-1],
                        history=history,
                    ),
                    habits_from(demand, dice),
                ),
                kwargs={"item_id": item_id, "started_s": started_s, "over": self._over},
                name=f"{trial}-{number}",
                daemon=True,
            )
            for number, ticket in enumerate(tickets)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def has_gone(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def send_away(self) -> None:
        """Nobody begins anything new; calls under way are waited for by `has_gone`."""
        self._over.set()
