"""The base of the faults of a store with replicas."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, TrialContext
from bench.faults.replicas.shop_kind import ShopKind
from bench.faults.trial_sale import Stock
from bench.faults.wire.http_client import Answer, BuyerClient
from seckill.models import SaleItem
from seckill.store.keys import keys_of
from shop.configuration.redis_address import StoreKind
from shop.local.stores.store_node import StoreNode

# Without waiting for replicas, and with it.
SENTINEL, CLUSTER = ShopKind(StoreKind.SENTINEL), ShopKind(StoreKind.CLUSTER)
SENTINEL_PROMISE, CLUSTER_PROMISE = ShopKind(StoreKind.SENTINEL, 1), ShopKind(StoreKind.CLUSTER, 1)
THREE_NODES_PROMISE = ShopKind(StoreKind.SENTINEL, 1, has_three_nodes=True)

REPLACED_SECONDS_MAX = 30.0
# Promised for the items of a primary that was killed.
BACK_SECONDS_MAX = 15.0


class ReplicatedFault(Fault):
    """Buyers keep coming until a replica has taken over, and for some time afterwards."""

    shop_kind = SENTINEL
    stock = Stock(quantity=80)
    demand = Demand(buyers=100, arrival_seconds=14.0, retry_seconds_max=14.0)
    duration_seconds = 0.0
    recovery_seconds_max = BACK_SECONDS_MAX

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        if self.shop.store is None:
            raise ValueError(f"{self.name} needs a store with replicas")
        self.store = self.shop.store

    def primary(self, item: SaleItem | None = None) -> StoreNode:
        """The node that has the trial's item, or another one."""
        return self.store.primary(key=keys_of((item or self.context.item).pk).item)

    def is_replaced(self, former: StoreNode) -> bool:
        """Whether another node has taken over the item of the trial, and says so itself."""
        return self.store.has_replaced(former, key=keys_of(self.context.item.pk).item)

    def await_replaced(self, former: StoreNode) -> bool:
        return self.shop.wait_until(lambda: self.is_replaced(former), seconds_max=REPLACED_SECONDS_MAX)

    def crowd(self, *, count: int, first: int) -> "Crowd":
        """So many more buyers, who all call at the same moment."""
        buyers = [self.context.extra_buyer(f"crowd-{first + number}", number=first + number) for number in range(count)]
        return Crowd(buyers, item_id=self.context.item.pk)


class PrimaryFrozen(ReplicatedFault):
    """SIGSTOP to the primary until its replica has taken over."""

    duration_seconds = 10.0
    demand = Demand(buyers=100, arrival_seconds=20.0, retry_seconds_max=14.0)
    refusals_are_timed = True

    def inject(self) -> None:
        self._former = self.primary()
        self.shop.freeze(self._former.name)

    def undo(self) -> None:
        self.happened = self.is_replaced(self._former)
        self.shop.thaw(self._former.name)


class CutLink:
    """The replica has a wrong password for the primary, which cuts its link and no other.

    A wrong address would not do: a sentinel that sees it corrects it, at times within the five seconds of a cut.
    """

    def __init__(self, replica: StoreNode) -> None:
        self._replica = replica

    def cut(self) -> None:
        with self._replica.client() as client:
            client.config_set("masterauth", f"not {self._replica.password}")
            client.execute_command("CLIENT", "KILL", "TYPE", "master")

    def restore(self) -> None:
        """Also where the replica has been promoted meanwhile: it may follow another one later."""
        with self._replica.client() as client:
            client.config_set("masterauth", self._replica.password)

    def is_cut(self) -> bool:
        with self._replica.client() as client:
            return bool(client.info("replication").get("master_link_status") == "down")


class Crowd:
    """Buyers who call once, each in a thread."""

    def __init__(self, buyers: Sequence[BuyerClient], *, item_id: int) -> None:
        self.buyers = buyers
        self._item_id = item_id
        self._pool = ThreadPoolExecutor(len(buyers))

    def start(self) -> None:
        self._calls = [
            self._pool.submit(buyer.reserve, item_id=self._item_id, units=1, attempt=number)
            for number, buyer in enumerate(self.buyers)
        ]

    def answers(self) -> list[Answer]:
        """Waits for the last one."""
        return [call.result() for call in self._calls]
