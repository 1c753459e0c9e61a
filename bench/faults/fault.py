"""What every fault is: a name, a sentence, and what it does to the site, and how that is undone.

`inject` and `heal` run in the main thread while buyers buy. Moments and variants come from `dice`, which is seeded by
the run's seed and the fault's name, so that `make faults SEED=… ARGS="--only NAME"` draws the same again.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bench.faults.buyer_journey import Demand
from bench.faults.history import History
from bench.faults.http_client import Caller
from bench.faults.shop_under_test import WEBS, Site
from bench.faults.store_snapshot import reservations_in_database
from bench.faults.trial_sale import Stock, tickets_for
from seckill.models import SaleItem

# Buyers of a fault's own are numbered from here, far above those of the crowd.
OWN_BUYERS_FIRST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where a trial happens: the site, the item on sale, the history, and the trial's dice."""

    trial: str
    site: Site
    item: SaleItem
    history: History
    dice: random.Random

    def caller(self, name: str, *, number: int) -> Caller:
        """One more buyer, with a number of its own."""
        (ticket,) = tickets_for(self.item, count=1, first=OWN_BUYERS_FIRST + number)
        ports = [self.site.proxy.port(f"buyers-{web}") for web in WEBS]
        return Caller(trial=self.trial, client=name, ticket=ticket, ports=ports, history=self.history)


class Fault:
    """The base of all faults, and the one in which nothing goes wrong."""

    name: ClassVar[str] = "no-fault"
    what: ClassVar[str] = "nothing goes wrong"
    # Seconds after the first buyer at which it begins, drawn from this span, and for how long it lasts.
    begins_seconds: ClassVar[tuple[float, float]] = (0.8, 2.0)
    lasts_seconds: ClassVar[float] = 2.0
    stock: ClassVar[Stock] = Stock()
    demand: ClassVar[Demand] = Demand()
    # While it lasts, the answers to reservations must come within the bound, though they can only be refusals.
    refusals_are_timed: ClassVar[bool] = False
    # The quantity itself changes, so that "sold out" may have been true before.
    quantity_moved: ClassVar[bool] = False

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.site = stage.site
        self.dice = stage.dice
        # What there is to tell of this run's variant.
        self.variant = ""
        # When durable data of the store was destroyed, and the reservations that PostgreSQL had then.
        self.destroyed_s: float | None = None
        self.known: set[str] = set()

    def inject(self) -> None:
        """Let it happen."""

    def heal(self) -> None:
        """Undo it. Does not wait for anything to recover."""

    def struck(self) -> bool:
        """Whether it did happen. A fault that did not shows nothing."""
        return True

    def broken(self) -> Sequence[str]:
        """Promises of its own that do not hold, in words; asked when everything is at rest."""
        return ()

    def about_to_destroy(self) -> None:
        """Note what PostgreSQL has: of the yeses told until it is `destroyed`, only those are promised to survive."""
        self.known = reservations_in_database(self.stage.item.pk)

    def destroyed(self) -> None:
        """From here on, whoever is told yes has a promise again."""
        self.destroyed_s = time.monotonic()
