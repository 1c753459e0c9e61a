"""A planned switchover of the reservation store: nothing is lost, and open connections still lead to the former one."""

from collections.abc import Sequence

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Part
from bench.faults.kinds.data_loss import REPLICA_SECONDS_MAX
from bench.faults.shop_under_test import STORE_LINKS
from bench.faults.wire.raw_valkey import client_at
from shop.local.ports import free_ports
from shop.local.valkey import STORE_FSYNC

FORMER = "former-store"


class PlannedSwitchover(Fault):
    """FAILOVER waits until the replica has everything. The former primary becomes a replica and answers READONLY."""

    name = "planned-switchover"
    description = "FAILOVER of the store to its replica; connections to the former primary stay open"
    demand = Demand(buyers=80, arrival_seconds=8.0, retry_seconds_max=8.0)
    disturbs = frozenset({Part.STORE})

    def inject(self) -> None:
        shop = self.shop
        (port,) = free_ports(count=1)
        name = f"store-switched-{sum(1 for _ in shop.directory.glob('store-switched-*'))}"
        process = shop.valkey(name, port=port, fsync=STORE_FSYNC)
        shop.add(name, process)
        shop.await_answers(name)
        replica, primary = client_at(port, password=shop.password), shop.store_client()
        for each in (replica, primary):
            each.config_set("masterauth", shop.password)
        replica.replicaof("127.0.0.1", shop.store_port)
        followed = shop.wait_until(
            lambda: replica.info("replication").get("master_link_status") == "up", seconds_max=REPLICA_SECONDS_MAX
        )
        primary.execute_command("FAILOVER", "TO", "127.0.0.1", port)
        self._switched = followed and shop.wait_until(
            lambda: replica.info("replication")["role"] == "master", seconds_max=REPLICA_SECONDS_MAX
        )
        shop.processes[FORMER] = shop.processes["store"]
        shop.processes["store"] = shop.processes.pop(name)
        shop.store_port = port
        shop.proxy.retarget(port, *STORE_LINKS, reset=False)

    def took_effect(self) -> bool:
        return self._switched

    def violations(self) -> Sequence[str]:
        # Until now the former primary was there, so that a client could have stayed with it.
        self.shop.remove(FORMER)
        return ()
