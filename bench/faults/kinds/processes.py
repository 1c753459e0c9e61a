"""Processes of the shop that die, pause, or come in twos."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
from django.conf import settings
from django.db import connection

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Stage
from bench.faults.http_client import Answer, Caller
from bench.faults.proxy import Mode
from bench.faults.trial_sale import Stock
from orders import intake
from seckill.keys import keys_of
from seckill.outbox import GROUP, TAKE_OVER_IDLE_MS

# The crowd passes every place within this time, or nothing is right.
STRIKE_SECONDS_MAX = 15.0
# Until somebody else may take over what a consumer has read.
PAST_IDLE_SECONDS = TAKE_OVER_IDLE_MS / 1000 + 1.5
# Long enough that an order which a fault delays by that much can still be paid.
PATIENT_STOCK = Stock(hold_seconds=18)
LONG_DEMAND = Demand(buyers=70, arrival_seconds=12.0)
SAME_PASS_TIMES = 50


class DiesAtFailpoint(Fault):
    """A process kills itself with SIGKILL when it comes to a place in the code for the nth time."""

    failpoint = ""
    visits_max = 3

    def inject(self) -> None:
        visit = self.dice.randint(1, self.visits_max)
        self.variant = f"at visit {visit}"
        with self.site.failpoint(self.failpoint, visit=visit) as died:
            self._died = self.site.wait_until(died, seconds_max=STRIKE_SECONDS_MAX)

    def struck(self) -> bool:
        return self._died


class WebKilledBeforeScript(DiesAtFailpoint):
    name = "web-killed-before-script"
    what = "a web process dies when the pass is read and the store not yet asked"
    failpoint = "reserve.before_script"
    visits_max = 6


class WebKilledAfterScript(DiesAtFailpoint):
    name = "web-killed-after-script"
    what = "a web process dies when the store has said yes and the buyer has not heard it"
    failpoint = "reserve.after_script"
    visits_max = 6


class WebKilled(Fault):
    name = "web-killed"
    what = "kill -9 of each web process in turn, some requests in the middle"

    def inject(self) -> None:
        for web in self.dice.sample(["web1", "web2"], 2):
            self.site.kill(web)
            self.site.wait(self.dice.uniform(0.8, 1.6))


class WorkerKilledBeforeCommit(DiesAtFailpoint):
    name = "worker-killed-before-commit"
    what = "a worker dies when all is written and nothing committed"
    failpoint = "intake.before_commit"


class WorkerKilledMidBatch(DiesAtFailpoint):
    name = "worker-killed-mid-batch"
    what = "a worker dies between the orders and their lines"
    failpoint = "intake.mid_batch"


class WorkerKilledAfterCommit(DiesAtFailpoint):
    name = "worker-killed-after-commit"
    what = "a worker dies after the commit, before it acknowledges the outbox entries"
    failpoint = "intake.after_commit"


class WorkerKilled(Fault):
    name = "worker-killed"
    what = "kill -9 of the worker with all its processes, twice"

    def inject(self) -> None:
        for _time in range(2):
            self.site.kill("worker")
            self.site.wait(self.dice.uniform(1.0, 3.0))


class TwoConsumers(Fault):
    """The first waits inside its transaction for a row that we have locked, until the second may take over."""

    name = "two-consumers"
    what = "two consumers bring the same outbox entries to PostgreSQL at the same time"
    lasts_seconds = 1.0
    stock = PATIENT_STOCK
    demand = LONG_DEMAND

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._handled: Future[int] = Future()

    def inject(self) -> None:
        pool = ThreadPoolExecutor(1)
        with psycopg.connect(settings.DATABASE_URL) as blocker:
            blocker.execute("SELECT 1 FROM seckill_saleitem WHERE id = %s FOR UPDATE", [self.stage.item.pk])
            self.site.wait(PAST_IDLE_SECONDS)
            self._handled = pool.submit(self._drain)
            # Let it come as far as the first one's rows.
            self.site.wait(0.5)
        self.site.wait_until(self._handled.done, seconds_max=STRIKE_SECONDS_MAX)
        pool.shutdown(wait=False)

    def _drain(self) -> int:
        try:
            return intake.drain_once(item_id=self.stage.item.pk, consumer="the-second")
        finally:
            connection.close()

    def struck(self) -> bool:
        return self._handled.done() and self._handled.result() > 0


class WorkerPaused(Fault):
    """It is stopped with entries in its hands: it has read them, and its first statement is stalled on the way."""

    name = "worker-paused-past-idle"
    what = "a worker sleeps past its idle limit with entries in its hands, another takes them over, it wakes up"
    stock = PATIENT_STOCK
    demand = LONG_DEMAND
    lasts_seconds = PAST_IDLE_SECONDS

    def inject(self) -> None:
        outbox = keys_of(self.stage.item.pk).outbox
        store = self.site.store_client()
        self.site.proxy.switch(Mode.STALL, "worker-postgres")
        self._held = self.site.wait_until(
            lambda: store.xpending(outbox, GROUP)["pending"] > 0, seconds_max=STRIKE_SECONDS_MAX
        )
        self.site.freeze("worker")
        self.site.proxy.switch(Mode.PASS, "worker-postgres")
        self.site.add("worker2", self.site.process("worker2"))

    def heal(self) -> None:
        self.site.thaw("worker")

    def broken(self) -> Sequence[str]:
        self.site.remove("worker2")
        return ()

    def struck(self) -> bool:
        return self._held


class BeatDown(Fault):
    name = "beat-down"
    what = "no beat, and so no sweeps, for 8 s"
    lasts_seconds = 8.0

    def inject(self) -> None:
        self.site.hold_down("beat")

    def heal(self) -> None:
        self.site.let_up("beat")


class TwoBeats(Fault):
    name = "two-beats"
    what = "two beats, so that every sweep runs twice"
    lasts_seconds = 6.0

    def inject(self) -> None:
        self.site.add("beat2", self.site.process("beat2"))

    def heal(self) -> None:
        self.site.remove("beat2")


class SamePassManyTimes(Fault):
    name = "same-pass-50-times"
    what = f"one pass, {SAME_PASS_TIMES} calls at once"

    def inject(self) -> None:
        caller = self.stage.caller("impatient", number=1)
        barrier = threading.Barrier(SAME_PASS_TIMES)
        with ThreadPoolExecutor(SAME_PASS_TIMES) as pool:
            self._answers = list(pool.map(lambda turn: self._call(caller, barrier, turn=turn), range(SAME_PASS_TIMES)))

    def _call(self, caller: Caller, barrier: threading.Barrier, *, turn: int) -> Answer:
        barrier.wait()
        return caller.reserve(item_id=self.stage.item.pk, units=1, turn=turn)

    def broken(self) -> Sequence[str]:
        firsts = sum(answer.word == "reserved" for answer in self._answers)
        words = {answer.word for answer in self._answers}
        if firsts > 1:
            return [f"{firsts} of {SAME_PASS_TIMES} calls with one pass were told that they are the first"]
        if firsts == 1 and words - {"reserved", "already_reserved"}:
            return [f"calls with one pass were told {', '.join(sorted(words))}"]
        return ()
