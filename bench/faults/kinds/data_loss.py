"""The reservation store loses or changes its data: all of it, a key, the tail of its file, or by a failover.

Of the yeses told before, those whose order PostgreSQL has are promised; what only the store knew is gone with it, and
counted as "not promised". No unit may be sold twice all the same, and nobody may hear "sold out" for want of a key.
"""

import shutil
from pathlib import Path

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault
from bench.faults.proxy import Mode
from bench.faults.raw_valkey import client_at
from seckill.keys import keys_of
from shop.local.servers import free_ports
from shop.local.valkey import STORE_FSYNC

# Buyers keep coming while the store is rebuilt.
DEMAND = Demand(buyers=80, arrival_seconds=10.0, patience_seconds=8.0)
# A reservation takes some 600 bytes of the append-only file.
CUT_BYTES_MAX = 2_500
REPLICA_SECONDS_MAX = 20.0


class DataLost(Fault):
    """With the worker asleep by the toss of a coin, so that some yeses are known to the store alone."""

    demand = DEMAND
    begins_seconds = (1.5, 3.0)
    lasts_seconds = 1.0

    def inject(self) -> None:
        asleep = self.dice.random() < 0.5
        self.variant = "worker asleep" if asleep else "worker awake"
        if asleep:
            self.site.freeze("worker")
            self.site.wait(1.0)
        self.about_to_destroy()
        self.destroy()
        self.destroyed()
        self.site.thaw("worker")

    def destroy(self) -> None:
        """Let the store lose what it loses."""


class StoreFlushed(DataLost):
    name = "store-flushall"
    what = "FLUSHALL in the middle of the sale"

    def destroy(self) -> None:
        self.site.store_client().flushall()


class StoreKeyLost(DataLost):
    name = "store-key-lost"
    what = "one of the item's keys is deleted"

    def destroy(self) -> None:
        keys = keys_of(self.stage.item.pk)
        name = self.dice.choice(["item", "buyers", "holds", "outbox"])
        self.variant += f", {name}"
        self.site.store_client().delete(getattr(keys, name))


class StoreDiskLost(DataLost):
    name = "store-disk-lost"
    what = "kill -9 of the store, which comes back without its files"

    def destroy(self) -> None:
        self.site.hold_down("store")
        shutil.rmtree(self.site.store_files())
        self.site.let_up("store")


class StoreBackupRestored(DataLost):
    name = "store-backup-restored"
    what = "the store comes back with its files of 2 s before"

    def destroy(self) -> None:
        files = self.site.store_files()
        copy = files.with_name("backup")
        self.site.freeze("store")
        shutil.copytree(files, copy)
        self.site.thaw("store")
        self.site.wait(2.0)
        self.about_to_destroy()
        self.site.hold_down("store")
        shutil.rmtree(files)
        copy.rename(files)
        self.site.let_up("store")


class AofCut(DataLost):
    name = "store-aof-cut"
    what = "kill -9 of the store, and its append-only file has lost its last bytes"

    def destroy(self) -> None:
        self.site.hold_down("store")
        path = last_file(self.site.store_files())
        size = path.stat().st_size
        cut = min(size, self.dice.randint(1, CUT_BYTES_MAX))
        self.variant += f", {cut} bytes"
        with path.open("r+b") as file:
            file.truncate(size - cut)
        self.site.let_up("store")


class Failover(DataLost):
    """The replica follows through a link of the proxy, which is stalled a second before the master dies."""

    name = "failover-to-lagging-replica"
    what = "the store dies, and a replica that lags by a second and a half is promoted in its place"
    lasts_seconds = 0.5

    def destroy(self) -> None:
        port, link_port = free_ports(count=2)
        number = sum(1 for _ in self.site.directory.glob("store-replica-*"))
        name = f"store-replica-{number}"
        part = self.site.valkey(name, port=port, fsync=STORE_FSYNC)
        self.site.proxy.add(name, port=link_port, target_port=self.site.store_port)
        self.site.add(name, part)
        self.site.await_answers(name)
        replica = client_at(port, password=self.site.password)
        replica.config_set("masterauth", self.site.password)
        replica.replicaof("127.0.0.1", link_port)
        self._followed = self.site.wait_until(
            lambda: replica.info("replication").get("master_link_status") == "up", seconds_max=REPLICA_SECONDS_MAX
        )
        self.site.proxy.switch(Mode.STALL, name)
        self.site.wait(1.5)
        self.about_to_destroy()
        self.site.hold_down("store")
        self.site.proxy.switch(Mode.REFUSE, name)
        replica.replicaof("NO", "ONE")
        self.site.parts.pop(name)
        self.site.promote(part, port=port)

    def heal(self) -> None:
        self.site.let_up("store")

    def struck(self) -> bool:
        return self._followed


def last_file(directory: Path) -> Path:
    """The file to which the store appends."""
    return max(directory.glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))
