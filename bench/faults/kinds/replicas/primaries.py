"""A primary is killed or frozen, and its replica takes over. A yes does not wait for the replica here.

So yeses that the replica did not have yet may be lost, unless they are orders already. Nothing is sold twice.
"""

from collections.abc import Sequence

from bench.faults.buyer_journey import Demand
from bench.faults.kinds.replicas.replicated_fault import CLUSTER, ReplicatedFault
from bench.faults.trial_sale import Stock, credentials_for, new_item, retire
from bench.faults.wire.http_client import BuyerClient
from seckill.models import SaleItem

BUYERS_BESIDE = 8
# An item lands on each of the three primaries with the same chance.
ITEMS_MAX = 30


class SentinelPrimaryKilled(ReplicatedFault):
    """It comes back some seconds later, as a replica."""

    name = "sentinel-primary-killed"
    description = "kill -9 of the primary; the sentinels promote its replica, which may lack the last yeses"
    refusals_are_timed = True

    def inject(self) -> None:
        self._former = self.primary()
        self.before_data_loss()
        self.shop.kill(self._former.name)
        self.after_data_loss()

    def took_effect(self) -> bool:
        return self.is_replaced(self._former)


class ClusterPrimaryKilled(SentinelPrimaryKilled):
    """Meanwhile the items of the other primaries go on selling."""

    name = "cluster-primary-killed"
    description = "kill -9 of the primary that has the item; items of the other primaries go on selling"
    shop_kind = CLUSTER

    def inject(self) -> None:
        beside = self.item_elsewhere()
        buyers = [
            BuyerClient(
                # The checker of this trial has no figures of that item.
                trial=f"{self.name}-beside",
                name=f"beside-{number}",
                credentials=credentials,
                ports=self.context.ports,
                history=self.context.history,
            )
            for number, credentials in enumerate(credentials_for(beside, count=BUYERS_BESIDE))
        ]
        super().inject()
        answers = [buyer.reserve(item_id=beside.pk, units=1, attempt=number) for number, buyer in enumerate(buyers)]
        self._refused = [answer.outcome for answer in answers if answer.status != 201]
        retire(beside)

    def item_elsewhere(self) -> SaleItem:
        """An item of another primary."""
        mine = self.primary()
        for _ in range(ITEMS_MAX):
            item = new_item(f"{self.name}-beside", Stock(quantity=BUYERS_BESIDE))
            if self.primary(item) is not mine:
                return item
            retire(item)
        raise LookupError(f"{ITEMS_MAX} items are all on {mine.name}")

    def violations(self) -> Sequence[str]:
        return [f"a buyer of an item of another primary was told {outcome}" for outcome in self._refused]


class SentinelPrimaryFrozen(ReplicatedFault):
    """It accepts connections and answers nothing, and when it runs again it does not know that it was replaced."""

    name = "sentinel-primary-frozen"
    description = "SIGSTOP to the primary for 10 s; its replica is promoted meanwhile"
    duration_seconds = 10.0
    demand = Demand(buyers=100, arrival_seconds=20.0, retry_seconds_max=14.0)
    refusals_are_timed = True

    def inject(self) -> None:
        self._former = self.primary()
        self.before_data_loss()
        self.shop.freeze(self._former.name)

    def undo(self) -> None:
        self._replaced = self.is_replaced(self._former)
        self.shop.thaw(self._former.name)
        # Until it is told, it says yes to clients that still ask it.
        self.shop.wait_until(lambda: not self._former.is_primary, seconds_max=self.recovery_seconds_max)
        self.after_data_loss()

    def took_effect(self) -> bool:
        return self._replaced


class ClusterPrimaryFrozen(SentinelPrimaryFrozen):
    name = "cluster-primary-frozen"
    description = "SIGSTOP to the primary that has the item for 10 s; its replica is promoted meanwhile"
    shop_kind = CLUSTER
