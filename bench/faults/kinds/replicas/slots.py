"""The slot of the item moves to another node in the middle of the sale."""

from bench.faults.kinds.replicas.replicated_fault import CLUSTER, ReplicatedFault
from seckill.store.cluster import slot_of
from shop.local.stores.cluster_store import ClusterStore


class SlotMigrated(ReplicatedFault):
    """CLUSTER MIGRATESLOTS moves a slot as a whole: no script meets half of its keys. Nothing may be lost."""

    name = "cluster-slot-migrated"
    description = "CLUSTER MIGRATESLOTS of the item's slot to another primary while buyers buy"
    shop_kind = CLUSTER
    refusals_are_timed = True

    def inject(self) -> None:
        assert isinstance(self.store, ClusterStore)
        source = self.primary()
        target = self.rng.choice([node for node in self.store.primaries() if node is not source])
        self.variant = f"{source.name} to {target.name}"
        slot, target_id = slot_of(self.context.item.pk), target.ask("CLUSTER MYID")
        with source.client() as client:
            client.execute_command("CLUSTER MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target_id)
        self._moved = self.await_replaced(source) and self.primary() is target

    def took_effect(self) -> bool:
        return self._moved
