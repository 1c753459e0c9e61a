"""Replicas and sentinels that are away: without a promise nothing waits for them."""

from bench.faults.buyer_journey import Demand
from bench.faults.kinds.frozen_servers import SellingGoesOn
from bench.faults.kinds.replicas.replicated_fault import BACK_SECONDS_MAX, CLUSTER, SENTINEL, ReplicatedFault

# The sentinels that are left, of three, decide nothing.
SENTINELS_LOST = ("sentinel-1", "sentinel-2")


class ReplicaFrozen(ReplicatedFault, SellingGoesOn):
    """Where no yes waits for it, buyers do not notice."""

    name = "cluster-replica-frozen"
    description = "SIGSTOP to the replica of the item's primary for 6 s"
    shop_kind = CLUSTER
    duration_seconds = 6.0
    demand = Demand(buyers=80, arrival_seconds=10.0)
    refusals_are_timed = True

    def hold(self) -> None:
        self._replica = self.store.replica_of(self.primary())
        self.shop.freeze(self._replica.name)

    def let_go(self) -> None:
        self.shop.thaw(self._replica.name)


class SentinelMajorityLost(ReplicatedFault, SellingGoesOn):
    """Clients find the primary by the one that is left; no replica can be promoted."""

    name = "sentinel-majority-lost"
    description = "two sentinels are away for 8 s, and after 4 s the primary is killed: nobody is promoted until then"
    shop_kind = SENTINEL
    duration_seconds = 4.0
    demand = Demand(buyers=120, arrival_seconds=18.0, retry_seconds_max=16.0)
    refusals_are_timed = True
    # Sentinels that start have to notice the primary first, and new clients of a web process to find them.
    recovery_seconds_max = BACK_SECONDS_MAX + 5.0

    def hold(self) -> None:
        for name in SENTINELS_LOST:
            self.shop.keep_down(name)

    def let_go(self) -> None:
        former = self.primary()
        self.before_data_loss()
        self.shop.keep_down(former.name)
        self.after_data_loss()
        self.shop.wait(self.duration_seconds)
        self._promoted_early = self.is_replaced(former)
        for name in SENTINELS_LOST:
            self.shop.bring_up(name)
        self._promoted = self.await_replaced(former)
        self.shop.bring_up(former.name)

    def took_effect(self) -> bool:
        return self._promoted and not self._promoted_early
