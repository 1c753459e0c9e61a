"""The base of all faults: a name, a description, a way to inject it and a way to undo it.

`inject` and `undo` run in the main thread while buyers buy. Moments and variants come from `rng`, which is seeded with
the run's seed and the fault's name, so that `make faults SEED=… ARGS="--only NAME"` makes the same choices again.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, TypeVar

from bench.faults.buyer_journey import Demand
from bench.faults.history import History
from bench.faults.replicas.shop_kind import ShopKind
from bench.faults.shop_under_test import SINGLE, WEBS, ShopUnderTest
from bench.faults.shopping.goods import Goods, Shelf, shopper_credentials
from bench.faults.shopping.shopper_client import ShopperClient
from bench.faults.store_snapshot import reservations_in_database
from bench.faults.trial_sale import Credentials, Stock, credentials_for, new_item
from bench.faults.wire.http_client import BuyerClient
from seckill.models import SaleItem

Client = TypeVar("Client", bound=BuyerClient)

# The numbers of buyers that a fault adds start here, far above those of the trial's buyers.
EXTRA_BUYERS_FIRST = 1_000
# What a fault waits for, such as a visit to a failpoint, happens within this time unless something is wrong.
INJECT_SECONDS_MAX = 15.0
# One of so many buyers does not keep receipts: nobody brings back what is lost of theirs.
FORGETFUL = 5


class Part(StrEnum):
    """A part of the shop or of its surroundings that a fault can disturb. `deadlines`: how long units are held."""

    BUYERS = "buyers"
    WEB = "web"
    WORKER = "worker"
    BEAT = "beat"
    STORE = "store"
    POSTGRES = "postgres"
    BROKER = "broker"
    COMPANY = "company"
    CHANGES = "changes"
    DEADLINES = "deadlines"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialContext:
    """The shop, the item on sale, the goods beside it, the history, and the random choices of one trial."""

    trial: str
    shop: ShopUnderTest
    item: SaleItem
    goods: Goods
    history: History
    rng: random.Random
    # Those of the proxies that buyers go through over TLS, where a fault has put some in front of the web processes.
    front_ports: list[int] = field(default_factory=list)

    @property
    def ports(self) -> list[int]:
        """Where buyers reach the web processes."""
        return self.front_ports or [self.shop.proxy.port(f"buyers-{web}") for web in WEBS]

    def extra_buyer(self, name: str, *, number: int) -> BuyerClient:
        (credentials,) = credentials_for(self.item, count=1, first=EXTRA_BUYERS_FIRST + number)
        return BuyerClient(
            trial=self.trial,
            name=name,
            credentials=credentials,
            ports=self.ports,
            tls=bool(self.front_ports),
            history=self.history,
        )

    def buyers(self, credentials: Sequence[Credentials], *, name: str = "buyer") -> list[BuyerClient]:
        """One in the trial's sale for each of the credentials."""
        return self._clients(BuyerClient, credentials, name=name)

    def shoppers(self, *, count: int, first: int = 0) -> list[ShopperClient]:
        """So many buyers of the ordinary shop, each with one purchase to make."""
        credentials = shopper_credentials(count=count, first=first)
        return self._clients(ShopperClient, credentials, name="shopper", first=first)

    def _clients(
        self, kind: type[Client], credentials: Sequence[Credentials], *, name: str, first: int = 0
    ) -> list[Client]:
        """Every second uses the other web process."""
        return [
            kind(
                trial=self.trial,
                name=f"{name}-{first + number}",
                credentials=of_buyer,
                ports=self.ports if number % 2 else self.ports[::-1],
                tls=bool(self.front_ports),
                history=self.history,
                keeps_receipts=bool((first + number) % FORGETFUL),
            )
            for number, of_buyer in enumerate(credentials)
        ]


class Fault:
    """The base of all faults. Used itself, it is the trial without a fault."""

    name: ClassVar[str] = "no-fault"
    description: ClassVar[str] = "nothing goes wrong"
    # The shop that it needs. Faults of one kind share a shop.
    shop_kind: ClassVar[ShopKind] = SINGLE
    # Seconds after the first buyer at which it is injected, chosen from this range, and how long it lasts.
    starts_after_seconds: ClassVar[tuple[float, float]] = (0.8, 2.0)
    duration_seconds: ClassVar[float] = 2.0
    stock: ClassVar[Stock] = Stock()
    demand: ClassVar[Demand] = Demand()
    # The goods that the ordinary shop sells meanwhile: none where no buyers come to it.
    shelf: ClassVar[Shelf] = Shelf()
    # Whether refusals must come within the bound while it lasts.
    refusals_are_timed: ClassVar[bool] = False
    # How long after its end both web processes may be without a correct answer; the harness waits a minute.
    recovery_seconds_max: ClassVar[float] = 60.0
    # Whether the fault changes the quantity: then "sold out" may have been true at some time.
    quantity_moved: ClassVar[bool] = False
    # The parts that it disturbs, and those that must work for it to happen or to be judged. A pair is two faults that
    # do not get in each other's way (`pairs`). Empty: it cannot be one of a pair.
    disturbs: ClassVar[frozenset[Part]] = frozenset()
    needs: ClassVar[frozenset[Part]] = frozenset()

    def __init__(self, context: TrialContext) -> None:
        self.context = context
        self.shop = context.shop
        self.rng = context.rng
        # The choices and events of this run, for the output.
        self.variant = ""
        # False where the fault has waited in vain for what it needs.
        self.happened = True
        # When the store lost durable data, and the reservations that PostgreSQL had as orders just before.
        self.data_lost_s: float | None = None
        self.orders_before_loss: set[str] = set()

    @classmethod
    def open_item(cls, stock: Stock, goods: Goods) -> SaleItem:
        """The item of the trial's sale."""
        return new_item(cls.name, stock)

    def inject(self) -> None:
        """Make it happen."""

    def undo(self) -> None:
        """End it. Does not wait for the shop to recover."""

    def took_effect(self) -> bool:
        """Whether it happened. A trial whose fault did not happen proves nothing."""
        return self.happened

    def violations(self) -> Sequence[str]:
        """More violations that this fault can show, in words; called when no work is pending any more."""
        return ()

    def forgives(self, *, sent_s: float, answered_s: float) -> bool:
        """Whether a yes of these times that had no order before the loss is not promised to survive."""
        return self.data_lost_s is not None and sent_s <= self.data_lost_s

    def before_data_loss(self) -> None:
        """Note what PostgreSQL has: of the yeses given until `after_data_loss`, only these are promised to survive."""
        self.orders_before_loss = reservations_in_database(self.context.item.pk)

    def after_data_loss(self) -> None:
        """From here on, every yes is a promise again."""
        self.data_lost_s = time.monotonic()
