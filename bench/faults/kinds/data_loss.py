"""The reservation store loses data: all of it, one key, the end of its file, or what a replica did not have.

The shop promises only those earlier yeses that are orders in PostgreSQL. The rest was only in the store, is lost, and
is counted as "not promised". Even so no unit may be sold twice, and no buyer may be told "sold out" because a key is
missing.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Part
from bench.faults.shop_under_test import STORE_LINKS, ShopUnderTest
from bench.faults.wire.proxy import Mode
from bench.lab.servers.lab_store import client_at
from seckill.store.keys import keys_of
from shop.local.ports import free_port, free_ports
from shop.local.valkey import STORE_FSYNC

# Buyers keep coming while the store is rebuilt.
DEMAND = Demand(buyers=80, arrival_seconds=10.0, retry_seconds_max=8.0)
# A reservation takes some 600 bytes of the append-only file.
CUT_BYTES_MAX = 2_500
REPLICA_SECONDS_MAX = 20.0
FORMER = "former-store"


class DataLost(Fault):
    """In half of the runs the worker is frozen first, so that only the store has some of the yeses."""

    demand = DEMAND
    starts_after_seconds = (1.5, 3.0)
    duration_seconds = 1.0
    disturbs = frozenset({Part.STORE, Part.WORKER})
    needs = frozenset({Part.POSTGRES})
    # Whether what is lost is in the store a second time: then each yes must be kept.
    has_all_twice: ClassVar[bool] = False

    def inject(self) -> None:
        frozen = self.rng.random() < 0.5
        self.variant = "worker frozen" if frozen else "worker running"
        if frozen:
            self.shop.freeze("worker")
            self.shop.wait(1.0)
        self.before_data_loss()
        self.lose_data()
        if not self.has_all_twice:
            self.after_data_loss()
        self.shop.thaw("worker")

    def lose_data(self) -> None:
        """Make the store lose data."""


class StoreFlushed(DataLost):
    name = "store-flushall"
    description = "FLUSHALL in the middle of the sale"

    def lose_data(self) -> None:
        self.shop.store_client().flushall()


class StoreKeyLost(DataLost):
    name = "store-key-lost"
    description = "one of the item's keys in the store is deleted; the other keys have every yes, so none may be lost"
    has_all_twice = True

    def lose_data(self) -> None:
        keys = keys_of(self.context.item.pk)
        name = self.rng.choice(["item", "buyers", "holds", "outbox"])
        self.variant += f", {name}"
        self.shop.store_client().delete(getattr(keys, name))


class StoreDiskLost(DataLost):
    name = "store-disk-lost"
    description = "kill -9 of the store, which restarts without its files"

    def lose_data(self) -> None:
        self.shop.keep_down("store")
        shutil.rmtree(self.shop.store_files())
        self.shop.bring_up("store")


class StoreBackupRestored(DataLost):
    name = "store-backup-restored"
    description = "the store restarts with a backup of its files that is 2 s old"

    def lose_data(self) -> None:
        files = self.shop.store_files()
        copy = files.with_name("backup")
        self.shop.freeze("store")
        shutil.copytree(files, copy)
        self.shop.thaw("store")
        self.shop.wait(2.0)
        self.before_data_loss()
        self.shop.keep_down("store")
        shutil.rmtree(files)
        copy.rename(files)
        self.shop.bring_up("store")


class AofCut(DataLost):
    name = "store-aof-cut"
    description = "kill -9 of the store, and the last bytes of its append-only file are lost"

    def lose_data(self) -> None:
        self.shop.keep_down("store")
        path = last_file(self.shop.store_files())
        size = path.stat().st_size
        cut = min(size, self.rng.randint(1, CUT_BYTES_MAX))
        self.variant += f", {cut} bytes"
        with path.open("r+b") as file:
            file.truncate(size - cut)
        self.shop.bring_up("store")


class Failover(DataLost):
    """The replica follows through a link of the proxy, which is stalled 1.5 s before the store is killed."""

    name = "failover-to-lagging-replica"
    description = "kill -9 of the store, and a replica that lags by 1.5 s replaces it"
    duration_seconds = 0.5

    def lose_data(self) -> None:
        port, link_port = free_ports(count=2)
        name = f"store-replica-{sum(1 for _ in self.shop.directory.glob('store-replica-*'))}"
        self.shop.proxy.add(name, port=link_port, target_port=self.shop.store_port)
        replica, self.happened = start_replica(self.shop, name, port=port, primary_port=link_port)
        self.shop.proxy.switch(Mode.STALL, name)
        self.shop.wait(1.5)
        self.before_data_loss()
        self.shop.keep_down("store")
        self.shop.proxy.switch(Mode.REFUSE, name)
        replica.replicaof("NO", "ONE")
        self.shop.promote(self.shop.processes.pop(name), port=port)

    def undo(self) -> None:
        self.shop.bring_up("store")


def start_replica(shop: ShopUnderTest, name: str, *, port: int, primary_port: int) -> tuple[Any, bool]:
    """A client of a new replica, and whether it has what the primary has."""
    shop.add(name, shop.valkey(name, port=port, fsync=STORE_FSYNC))
    shop.await_answers(name)
    replica = client_at(port, password=shop.password)
    replica.config_set("masterauth", shop.password)
    replica.replicaof("127.0.0.1", primary_port)

    def follows() -> bool:
        return bool(replica.info("replication").get("master_link_status") == "up")

    return replica, shop.wait_until(follows, seconds_max=REPLICA_SECONDS_MAX)


def last_file(directory: Path) -> Path:
    """The file to which the store appends now."""
    return max(directory.glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))


class PlannedSwitchover(Fault):
    """FAILOVER waits until the replica has everything. The former primary becomes a replica and answers READONLY."""

    name = "planned-switchover"
    description = "FAILOVER of the store to its replica; connections to the former primary stay open"
    demand = Demand(buyers=80, arrival_seconds=8.0, retry_seconds_max=8.0)
    disturbs = frozenset({Part.STORE})

    def inject(self) -> None:
        shop = self.shop
        port = free_port()
        name = f"store-switched-{sum(1 for _ in shop.directory.glob('store-switched-*'))}"
        primary = shop.store_client()
        primary.config_set("masterauth", shop.password)
        replica, followed = start_replica(shop, name, port=port, primary_port=shop.store_port)
        primary.execute_command("FAILOVER", "TO", "127.0.0.1", port)
        self.happened = followed and shop.wait_until(
            lambda: replica.info("replication")["role"] == "master", seconds_max=REPLICA_SECONDS_MAX
        )
        shop.processes[FORMER] = shop.processes["store"]
        shop.processes["store"] = shop.processes.pop(name)
        shop.store_port = port
        shop.proxy.retarget(port, *STORE_LINKS, reset=False)

    def violations(self) -> Sequence[str]:
        # Until now the former primary was there, so that a client could have stayed with it.
        self.shop.remove(FORMER)
        return ()
