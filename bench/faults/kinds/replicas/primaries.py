"""Servers of a store with replicas are killed, frozen or away, or a slot moves. A yes does not wait for a replica here.

A replica takes over from a primary. Yeses that it did not have yet may be lost, unless they are orders already. Nothing
is sold twice.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import psycopg
from django.conf import settings

from bench.faults.buyer_journey import Demand
from bench.faults.kinds.frozen_servers import SellingGoesOn
from bench.faults.kinds.replicas.replicated_fault import (
    BACK_SECONDS_MAX,
    CLUSTER,
    SENTINEL,
    CutLink,
    PrimaryFrozen,
    ReplicatedFault,
)
from bench.faults.trial_sale import Stock, credentials_for, new_item
from bench.load_sale import retire
from seckill.models import SaleItem
from seckill.outbox.outbox import GROUP
from seckill.store.cluster import slot_of
from seckill.store.keys import keys_of
from shop.local.stores.cluster_store import ClusterStore
from shop.local.stores.store_node import StoreNode

BUYERS_BESIDE = 8
# An item lands on each of the three primaries with the same chance.
ITEMS_MAX = 30
# A replica that runs has what was said longer ago.
REPLICATED_SECONDS = 1.0
# So many reservations a worker has read and cannot commit.
BATCH_MIN = 5
# How often it is tried to detach the replica while its outbox is empty, with so long between for it to catch up.
DETACHING_MAX, DETACHING_SECONDS = 40, 0.15
HELD_SECONDS_MAX = 15.0
# How long it cannot after the promotion.
LOCKED_SECONDS_MAX = 6.0
# The sentinels that are left, of three, decide nothing.
SENTINELS_LOST = ("sentinel-1", "sentinel-2")


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
        return self.happened and self.is_replaced(self._former)


class ClusterPrimaryKilled(SentinelPrimaryKilled):
    """Meanwhile the items of the other primaries go on selling."""

    name = "cluster-primary-killed"
    description = "kill -9 of the primary that has the item; items of the other primaries go on selling"
    shop_kind = CLUSTER

    def inject(self) -> None:
        beside = self.item_elsewhere()
        # The checker of this trial has no figures of that item.
        context = replace(self.context, trial=f"{self.name}-beside")
        buyers = context.buyers(credentials_for(beside, count=BUYERS_BESIDE), name="beside")
        super().inject()
        answers = [buyer.reserve(item_id=beside.pk, units=1) for buyer in buyers]
        self._refused = [answer.outcome for answer in answers if answer.status != 201]
        retire(beside)

    def item_elsewhere(self) -> SaleItem:
        mine = self.primary()
        for _ in range(ITEMS_MAX):
            item = new_item(f"{self.name}-beside", Stock(quantity=BUYERS_BESIDE))
            if self.primary(item) is not mine:
                return item
            retire(item)
        raise LookupError(f"{ITEMS_MAX} items are all on {mine.name}")

    def violations(self) -> Sequence[str]:
        return [f"a buyer of an item of another primary was told {outcome}" for outcome in self._refused]


class SentinelPrimaryFrozen(PrimaryFrozen):
    """It accepts connections and answers nothing, and when it runs again it does not know that it was replaced.

    Only what the former primary has said may be lost: just before it was frozen, and after it was let go until it knew.
    What was said in between came from the promoted replica.
    """

    name = "sentinel-primary-frozen"
    description = "SIGSTOP to the primary for 10 s; its replica is promoted meanwhile"

    def inject(self) -> None:
        self.before_data_loss()
        self._frozen_s = time.monotonic()
        super().inject()

    def undo(self) -> None:
        self._thawed_s = time.monotonic()
        super().undo()
        # Until it is told, it says yes to clients that still ask it.
        self.shop.wait_until(lambda: not self._former.is_primary, seconds_max=self.recovery_seconds_max)
        self.after_data_loss()

    def forgives(self, *, sent_s: float, answered_s: float) -> bool:
        just_before = abs(answered_s - self._frozen_s) <= REPLICATED_SECONDS
        return just_before or (answered_s >= self._thawed_s and super().forgives(sent_s=sent_s, answered_s=answered_s))


class ClusterPrimaryFrozen(SentinelPrimaryFrozen):
    name = "cluster-primary-frozen"
    description = "SIGSTOP to the primary that has the item for 10 s; its replica is promoted meanwhile"
    shop_kind = CLUSTER


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


class BatchOfReplacedPrimary(ReplicatedFault):
    """A worker has read reservations that only the primary has, and waits for a row that the harness has locked. The
    primary is killed, and the replica without them is promoted. Then the worker may go on.
    """

    name = "sentinel-batch-of-replaced-primary"
    description = "a worker holds a batch that the promoted replica lacks, until that one sells: no new yes is rejected"
    # Before many units are sold: buyers must want more than are left after the promotion too.
    starts_after_seconds = (0.0, 0.3)
    stock = Stock(quantity=40, hold_seconds=40)
    recovery_seconds_max = BACK_SECONDS_MAX + LOCKED_SECONDS_MAX

    def inject(self) -> None:
        outbox = keys_of(self.context.item.pk).outbox
        former = self.primary()
        replica = self.store.replica_of(former)
        link = CutLink(replica)
        detached = self._detach(replica, link)
        self.before_data_loss()
        with psycopg.connect(settings.DATABASE_URL) as blocker:
            blocker.execute("SELECT 1 FROM seckill_saleitem WHERE id = %s FOR UPDATE", [self.context.item.pk])
            with former.client() as client:
                held = detached and self.shop.wait_until(
                    lambda: client.xpending(outbox, GROUP)["pending"] >= BATCH_MIN, seconds_max=HELD_SECONDS_MAX
                )
            self.variant = f"detached {detached}, a batch held {held}"
            self.shop.keep_down(former.name)
            self.after_data_loss()
            self.happened = self.await_replaced(former) and held
            link.restore()
            self.shop.bring_up(former.name)
            # Long enough for a comparison of the item that does not wait for the row, and for buyers after it.
            self.shop.wait(LOCKED_SECONDS_MAX)

    def _detach(self, replica: StoreNode, link: CutLink) -> bool:
        """Cut the link when the replica has no entry: else comparing the item would wait for the row too."""
        outbox = keys_of(self.context.item.pk).outbox
        for _time in range(DETACHING_MAX):
            link.cut()
            with replica.client() as client:
                if client.xlen(outbox) == 0:
                    return True
            link.restore()
            self.shop.wait(DETACHING_SECONDS)
        return False


class ReplicationLinkCut(ReplicatedFault, SellingGoesOn):
    """Buyers and sentinels reach the primary, which alone has what it says meanwhile. Nothing may be lost."""

    name = "sentinel-replication-link-cut"
    description = "only the link between primary and replica is cut for 5 s"
    duration_seconds = 5.0
    demand = Demand(buyers=80, arrival_seconds=10.0)

    def hold(self) -> None:
        self._primary = self.primary()
        self._link = CutLink(self.store.replica_of(self._primary))
        self._link.cut()

    def let_go(self) -> None:
        self.happened = self._link.is_cut() and self.primary() is self._primary
        self._link.restore()


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
        promoted_early = self.is_replaced(former)
        for name in SENTINELS_LOST:
            self.shop.bring_up(name)
        self.happened = self.await_replaced(former) and not promoted_early
        self.shop.bring_up(former.name)


class PrimaryKilledAfterLinkCut(SentinelPrimaryKilled):
    """The shop goes on selling at the primary, and the replica that takes over lacks all of it."""

    name = "sentinel-primary-killed-after-link-cut"
    description = "only the link between primary and replica is cut; after 3 s the primary is killed"

    def inject(self) -> None:
        self._link = CutLink(self.store.replica_of(self.primary()))
        self._link.cut()
        self.shop.wait(3.0)
        self.happened = self._link.is_cut()
        super().inject()

    def undo(self) -> None:
        super().undo()
        self._link.restore()


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
        self.happened = self.await_replaced(source) and self.primary() is target
