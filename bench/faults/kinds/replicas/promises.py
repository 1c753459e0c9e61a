"""With SECKILL_YES_REPLICAS=1 each yes is on the replica before it is told: no fault of these may lose one."""

import time
from collections.abc import Sequence
from typing import ClassVar

from bench.faults.buyer_journey import Demand
from bench.faults.fault import TrialContext
from bench.faults.history import Action
from bench.faults.kinds.replicas.replicated_fault import (
    BACK_SECONDS_MAX,
    CLUSTER_PROMISE,
    SENTINEL_PROMISE,
    THREE_NODES_PROMISE,
    CutLink,
    PrimaryFrozen,
    ReplicatedFault,
)
from bench.faults.trial_sale import Stock

# They call in the moment of the kill.
CROWD = 10
# The numbers of these buyers, above those of the trial's.
CROWD_FIRST, PROBE = 2_000, 1_999
SELLING_SECONDS_MAX = 60.0


class PromisedPrimaryKilled(ReplicatedFault):
    """Kills the item's primary while a crowd calls, and starts it again as a replica; as often as `kills` says."""

    name = "yes-replicas-sentinel-primary-killed"
    description = "a yes waits for the replica: kill -9 of the primary while a crowd calls"
    shop_kind = SENTINEL_PROMISE
    kills: ClassVar[int] = 1
    back_seconds_max: ClassVar[float] = BACK_SECONDS_MAX

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._probe = context.extra_buyer("again", number=PROBE)
        self._crowds = [self.crowd(count=CROWD, first=CROWD_FIRST + CROWD * number) for number in range(self.kills)]
        self._back_seconds: list[float] = []

    def inject(self) -> None:
        replaced = 0
        for crowd in self._crowds:
            crowd.start()
            self.shop.wait(self.rng.uniform(0.0, 0.15))
            former, killed_s = self.primary(), time.monotonic()
            self.shop.keep_down(former.name)
            replaced += self.await_replaced(former)
            self.shop.bring_up(former.name)
            self.shop.wait_until(self._sells, seconds_max=SELLING_SECONDS_MAX)
            self._back_seconds.append(time.monotonic() - killed_s)
            self.shop.await_store()
            crowd.answers()
            self.shop.wait(self.rng.uniform(0.3, 2.5))
        self.variant = f"{self.kills} killed, back after at most {max(self._back_seconds):.1f} s"
        self.happened = replaced == self.kills

    def _sells(self) -> bool:
        """Whether the item can be bought, or refused, again at both web processes."""
        answers = [self._probe.reserve(item_id=self.context.item.pk, units=1, attempt=attempt) for attempt in (0, 1)]
        return not any(answer.is_unknown for answer in answers)

    def violations(self) -> Sequence[str]:
        late = [seconds for seconds in self._back_seconds if seconds > self.back_seconds_max]
        return [f"the item was back only after {seconds:.1f} s" for seconds in late]


class PromisedClusterPrimaryKilled(PromisedPrimaryKilled):
    name = "yes-replicas-cluster-primary-killed"
    description = "a yes waits for the replica: kill -9 of the primary that has the item while a crowd calls"
    shop_kind = CLUSTER_PROMISE


class OneReplicaLags(PromisedPrimaryKilled):
    """It gets nothing for some seconds and can be chosen by the sentinels again, but the other one has every yes.

    A frozen one would read from its socket, when it runs again, what the primary has written to it meanwhile.
    """

    name = "three-nodes-primary-killed"
    description = "a yes waits for one of two replicas: one gets nothing for 3 s, and then the primary is killed"
    shop_kind = THREE_NODES_PROMISE
    # Sentinels of three nodes wait for 7 s before they replace a primary.
    back_seconds_max = 25.0
    recovery_seconds_max = back_seconds_max
    demand = Demand(buyers=140, arrival_seconds=24.0, retry_seconds_max=24.0)

    def inject(self) -> None:
        primary = self.primary()
        lagging = self.store.replica_of(primary)
        link = CutLink(lagging)
        link.cut()
        # While the primary is down and none is chosen.
        self.shop.do_later(4.0, link.restore)
        self.shop.wait(3.0)
        was_cut = link.is_cut()
        super().inject()
        self.happened &= was_cut and self.primary() is not lagging


class TwentyPrimariesKilled(PromisedPrimaryKilled):
    name = "yes-replicas-sentinel-20-killed"
    description = "a yes waits for the replica: 20 primaries killed one after the other, at random moments"
    kills = 20
    stock = Stock(quantity=1_500)
    demand = Demand(buyers=1_500, arrival_seconds=200.0, retry_seconds_max=14.0)


class TwentyClusterPrimariesKilled(TwentyPrimariesKilled):
    name = "yes-replicas-cluster-20-killed"
    description = "a yes waits for the replica: 20 primaries of a cluster killed one after the other, at random moments"
    shop_kind = CLUSTER_PROMISE


class PromisedReplicaFrozen(ReplicatedFault):
    """The primary writes, and no replica confirms it: buyers are told `unavailable`, and ask again."""

    name = "yes-replicas-replica-frozen"
    description = "a yes waits for the replica: SIGSTOP to the replica for 5 s, and nobody is told yes"
    shop_kind = SENTINEL_PROMISE
    duration_seconds = 5.0
    refusals_are_timed = True

    def inject(self) -> None:
        self._primary = self.primary()
        self._replica = self.store.replica_of(self._primary)
        self.hold()
        self._frozen_s = time.monotonic()

    def undo(self) -> None:
        self._thawed_s = time.monotonic()
        self.let_go()

    def hold(self) -> None:
        """From now on the replica confirms nothing."""
        self.shop.freeze(self._replica.name)

    def let_go(self) -> None:
        self.shop.thaw(self._replica.name)

    def violations(self) -> Sequence[str]:
        events = [event for event in self.context.history.of(self.context.trial) if event.action is Action.RESERVE]
        sent_s = {event.call: event.at_s for event in events if not event.is_answer}
        return [
            f"{event.client} was told yes, and no replica had it"
            for event in events
            # A repeated yes may have its order already.
            if event.is_yes and event.outcome == "reserved"
            if self._frozen_s < sent_s[event.call] and event.at_s < self._thawed_s
        ]


class PromisedLinkCut(PromisedReplicaFrozen):
    """Both servers run, and clients and sentinels reach both: nobody is promoted."""

    name = "yes-replicas-link-cut"
    description = "a yes waits for the replica: only the link between the two is cut for 5 s, and nobody is told yes"

    def hold(self) -> None:
        self._link = CutLink(self._replica)
        self._link.cut()

    def let_go(self) -> None:
        self._was_cut = self._link.is_cut()
        self._link.restore()

    def took_effect(self) -> bool:
        return self._was_cut and self.primary() is self._primary


class PromotionWhileAnswerWaits(ReplicatedFault):
    """The primary has written and waits for the replica, and is killed; the replica is promoted."""

    name = "promotion-while-answer-waits"
    description = "a yes waits for a frozen replica, the primary is killed, and the replica is promoted"
    shop_kind = SENTINEL_PROMISE

    def inject(self) -> None:
        primary = self.primary()
        replica = self.store.replica_of(primary)
        crowd = self.crowd(count=CROWD, first=CROWD_FIRST)
        self.shop.freeze(replica.name)
        crowd.start()
        # Less than SECKILL_YES_WAIT_MS, so that they wait.
        self.shop.wait(0.3)
        self.shop.keep_down(primary.name)
        self.shop.thaw(replica.name)
        self._told_yes = [answer for answer in crowd.answers() if answer.status == 201]
        self.happened = self.await_replaced(primary)
        self.shop.bring_up(primary.name)
        self.shop.await_store()
        for number, buyer in enumerate(crowd.buyers):
            buyer.reserve(item_id=self.context.item.pk, units=1, attempt=number)

    def violations(self) -> Sequence[str]:
        return [f"a buyer was told {answer.outcome}, and no replica had it" for answer in self._told_yes]


class PromisedPrimaryFrozen(PrimaryFrozen):
    """When it runs again it does not know that it was replaced, and has no replica that confirms anything."""

    name = "yes-replicas-cluster-primary-frozen"
    description = "a yes waits for the replica: SIGSTOP to the primary for 10 s; its replica is promoted meanwhile"
    shop_kind = CLUSTER_PROMISE
