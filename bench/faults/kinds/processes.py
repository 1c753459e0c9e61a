"""Processes of the shop are killed, frozen, or run twice."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
from django.conf import settings
from django.db import connection

from bench.faults.buyer_journey import Demand
from bench.faults.fault import INJECT_SECONDS_MAX, Fault, Part
from bench.faults.trial_sale import Stock
from bench.faults.wire.http_client import Answer, BuyerClient
from bench.faults.wire.proxy import Mode
from orders.life import intake
from seckill.outbox.outbox import GROUP, TAKE_OVER_IDLE_MS
from seckill.store.keys import keys_of

# After this time another consumer may take over what one has read.
PAST_IDLE_SECONDS = TAKE_OVER_IDLE_MS / 1000 + 1.5
# Holds so long that an order which is delayed by that time can still be paid.
LONG_HOLD_STOCK = Stock(hold_seconds=18)
LONG_DEMAND = Demand(buyers=70, arrival_seconds=12.0)
SAME_PASS_TIMES = 50


class DiesAtFailpoint(Fault):
    """A process kills itself with SIGKILL when it reaches a failpoint for the nth time."""

    failpoint = ""
    visits_max = 3

    def inject(self) -> None:
        visit = self.rng.randint(1, self.visits_max)
        self.variant = f"at visit {visit}"
        with self.shop.failpoint(self.failpoint, visit=visit) as died:
            self.happened = self.shop.wait_until(died, seconds_max=INJECT_SECONDS_MAX)


class ProcessDown(Fault):
    """kill -9 of the process `target`, which stays down for a while."""

    target = ""

    def inject(self) -> None:
        self.shop.keep_down(self.target)

    def undo(self) -> None:
        self.shop.bring_up(self.target)


class ProcessFrozen(Fault):
    """The process `target` accepts connections and answers nothing for a while."""

    target = ""

    def inject(self) -> None:
        self.shop.freeze(self.target)

    def undo(self) -> None:
        self.shop.thaw(self.target)


class ProcessKilled(Fault):
    """kill -9 of the process `target`, which is started again at once, as often as `kills` says."""

    target = ""
    kills = 1
    pause_seconds = (0.0, 0.0)

    def inject(self) -> None:
        for _time in range(self.kills):
            self.shop.kill(self.target)
            self.shop.wait(self.rng.uniform(*self.pause_seconds))


class WebKilledBeforeScript(DiesAtFailpoint):
    name = "web-killed-before-script"
    description = "a web process dies after it read the pass, before it calls the store"
    failpoint = "reserve.before_script"
    visits_max = 6
    disturbs = frozenset({Part.WEB})


class WebKilledAfterScript(DiesAtFailpoint):
    name = "web-killed-after-script"
    description = "a web process dies after the store said yes, before it answers the buyer"
    failpoint = "reserve.after_script"
    visits_max = 6
    disturbs = frozenset({Part.WEB})


class WebKilled(Fault):
    name = "web-killed"
    description = "kill -9 of each web process, one after the other, with requests under way"
    disturbs = frozenset({Part.WEB})

    def inject(self) -> None:
        for web in self.rng.sample(["web1", "web2"], 2):
            self.shop.kill(web)
            self.shop.wait(self.rng.uniform(0.8, 1.6))


class WorkerKilledBeforeCommit(DiesAtFailpoint):
    name = "worker-killed-before-commit"
    description = "a worker dies when a batch of orders is written and not committed"
    failpoint = "intake.before_commit"
    disturbs = frozenset({Part.WORKER})


class WorkerKilledMidBatch(DiesAtFailpoint):
    name = "worker-killed-mid-batch"
    description = "a worker dies after writing a batch of orders, before it counts their units"
    failpoint = "intake.mid_batch"
    disturbs = frozenset({Part.WORKER})


class WorkerKilledAfterCommit(DiesAtFailpoint):
    name = "worker-killed-after-commit"
    description = "a worker dies after the commit, before it acknowledges the outbox entries"
    failpoint = "intake.after_commit"
    disturbs = frozenset({Part.WORKER})


class WorkerKilled(ProcessKilled):
    name = "worker-killed"
    description = "kill -9 of the worker and its children, twice"
    target = "worker"
    kills = 2
    pause_seconds = (1.0, 3.0)
    disturbs = frozenset({Part.WORKER})


class TwoConsumers(Fault):
    """The harness locks a row so that the first consumer waits in its transaction until the second may take over.

    The second is another thread of the worker, or the harness, whichever asks first.
    """

    name = "two-consumers"
    description = "two consumers write the same outbox entries to PostgreSQL at the same time"
    duration_seconds = 1.0
    stock = LONG_HOLD_STOCK
    demand = LONG_DEMAND

    def inject(self) -> None:
        pool = ThreadPoolExecutor(1)
        with psycopg.connect(settings.DATABASE_URL) as blocker:
            blocker.execute("SELECT 1 FROM seckill_saleitem WHERE id = %s FOR UPDATE", [self.context.item.pk])
            self.shop.wait(PAST_IDLE_SECONDS)
            handled = pool.submit(self._drain)
            # Time for the second consumer to reach the rows of the first.
            self.shop.wait(0.5)
            pending = self.shop.store_client().xpending_range(
                keys_of(self.context.item.pk).outbox, GROUP, "-", "+", 100
            )
            given_twice = any(entry["times_delivered"] > 1 for entry in pending)
        self.happened = self.shop.wait_until(handled.done, seconds_max=INJECT_SECONDS_MAX) and given_twice
        pool.shutdown(wait=False)

    def _drain(self) -> int:
        try:
            return intake.drain_once(item_id=self.context.item.pk, consumer="the-second")
        finally:
            connection.close()


class WorkerPaused(Fault):
    """The worker is frozen after it has read entries, while its first statement is stalled in the proxy."""

    name = "worker-paused-past-idle"
    description = "a worker is frozen with unprocessed entries, another worker takes them over, and the first goes on"
    stock = LONG_HOLD_STOCK
    demand = LONG_DEMAND
    duration_seconds = PAST_IDLE_SECONDS
    disturbs = frozenset({Part.WORKER, Part.DEADLINES})
    needs = frozenset({Part.POSTGRES, Part.STORE, Part.BROKER, Part.BEAT})

    def inject(self) -> None:
        outbox = keys_of(self.context.item.pk).outbox
        store = self.shop.store_client()
        self.shop.proxy.switch(Mode.STALL, "worker-postgres")
        self.happened = self.shop.wait_until(
            lambda: store.xpending(outbox, GROUP)["pending"] > 0, seconds_max=INJECT_SECONDS_MAX
        )
        self.shop.freeze("worker")
        self.shop.proxy.switch(Mode.PASS, "worker-postgres")
        self.shop.add("worker2", self.shop.process("worker2"))

    def undo(self) -> None:
        self.shop.thaw("worker")

    def violations(self) -> Sequence[str]:
        self.shop.remove("worker2")
        return ()


class BeatDown(ProcessDown):
    name = "beat-down"
    description = "no beat, and therefore no sweeps, for 8 s"
    target = "beat"
    duration_seconds = 8.0
    disturbs = frozenset({Part.BEAT})


class TwoBeats(Fault):
    name = "two-beats"
    description = "two beats, so that every sweep runs twice"
    duration_seconds = 6.0
    disturbs = frozenset({Part.BEAT})

    def inject(self) -> None:
        self.shop.add("beat2", self.shop.process("beat2"))

    def undo(self) -> None:
        self.shop.remove("beat2")


class SamePassManyTimes(Fault):
    name = "same-pass-50-times"
    description = f"{SAME_PASS_TIMES} calls with the same pass at once"
    # While units are left: without a yes there is nothing to repeat.
    starts_after_seconds = (0.0, 0.8)

    def inject(self) -> None:
        client = self.context.extra_buyer("impatient", number=1)
        barrier = threading.Barrier(SAME_PASS_TIMES)
        with ThreadPoolExecutor(SAME_PASS_TIMES) as pool:
            self._answers = list(
                pool.map(lambda attempt: self._call(client, barrier, attempt=attempt), range(SAME_PASS_TIMES))
            )
        self.happened = any(answer.status == 201 for answer in self._answers)

    def _call(self, client: BuyerClient, barrier: threading.Barrier, *, attempt: int) -> Answer:
        barrier.wait()
        return client.reserve(item_id=self.context.item.pk, units=1, attempt=attempt)

    def violations(self) -> Sequence[str]:
        firsts = sum(answer.outcome == "reserved" for answer in self._answers)
        outcomes = {answer.outcome for answer in self._answers}
        if firsts > 1:
            return [f"{firsts} of {SAME_PASS_TIMES} calls with one pass were answered as the first"]
        if self.happened and outcomes - {"reserved", "already_reserved"}:
            return [f"calls with one pass were told {', '.join(sorted(outcomes))}"]
        return ()
