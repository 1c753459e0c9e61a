"""The cache and broker is killed, frozen or emptied. Messages only wake the workers, so losing them must lose nothing.

After each of these faults a canary must succeed: a reservation becomes an order, and the worker answers a ping.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from celery import current_app
from django.conf import settings
from django.db.models import F, QuerySet

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Part, TrialContext
from bench.faults.kinds.processes import ProcessDown, ProcessFrozen, ProcessKilled
from bench.faults.payer import Retry, pay
from bench.faults.shop_under_test import answers
from bench.faults.store_snapshot import reservations_in_database
from bench.faults.trial_sale import Stock, new_item
from bench.lab.servers.lab_store import client_at
from bench.load_sale import retire
from orders.models import Order, OrderStatus
from seckill.outbox import doorbell
from shop.background import sweep_scheduler
from shop.background.sweep_scheduler import SweepScheduler

CANARY_SECONDS_MAX = 30.0
WORKERS = ("worker", "errands", "repair")
QUEUES = ("drain", "expiry", "mail", "payments", "repair", "celery")
AWAY_SECONDS = 600.0
AWAY_SECONDS_SHORT = 30.0
# Far shorter than they are away.
SHORT_HOLD_SECONDS = 10
# Until the first worker has written the order, and the buyer has paid it.
PAYING_SECONDS_MAX = 30.0
# Two web processes ring for an item 20 times a second each, at most.
RINGS = 2 * 20 * 600
# The web processes, the harness and beat look how long a queue is before they add to it, each by itself.
SENDERS = 4
# Beat sends so many messages a second; when nothing is left but these, everything is drained.
JUST_SENT_MAX = 20
DRAINED_SECONDS_MAX = 30.0
RINGS_AT_ONCE = 400
# Up to 500 messages of about one kilobyte in each of six queues, and sessions of the buyers.
GROWTH_KILOBYTES_MAX = 4_000


class BrokerFault(Fault):
    """Runs the canary afterwards. Refusals are timed: no answer to a buyer needs the broker."""

    refusals_are_timed = True

    def violations(self) -> Sequence[str]:
        began_s = time.monotonic()
        # On another sale: that of the trial may be sold out.
        context = replace(self.context, trial=f"{self.name}-canary", item=new_item(f"{self.name}-canary", Stock()))
        canary = context.extra_buyer("canary", number=2)
        answer = canary.reserve(item_id=context.item.pk, units=1)
        violations = []
        if answer.status == 201 and not self.shop.wait_until(
            lambda: canary.credentials.reservation_id in reservations_in_database(context.item.pk),
            seconds_max=CANARY_SECONDS_MAX,
        ):
            violations.append(f"the canary's order did not appear within {CANARY_SECONDS_MAX:.0f} s")
        if answer.status != 201:
            violations.append(f"the canary was told {answer.outcome}")
        if not self.shop.wait_until(lambda: answers(self.shop.processes["worker"]), seconds_max=CANARY_SECONDS_MAX):
            violations.append("the worker does not answer pings")
        retire(context.item)
        self.variant = f"{self.variant} canary after {time.monotonic() - began_s:.1f} s".strip()
        return violations


class BrokerDown(BrokerFault, ProcessDown):
    name = "broker-down"
    description = "kill -9 of the broker, which stays down for 5 s"
    target = "broker"
    duration_seconds = 5.0
    demand = Demand(arrival_seconds=9.0)
    disturbs = frozenset({Part.BROKER})


class BrokerPaused(BrokerFault, ProcessFrozen):
    name = "broker-paused"
    description = "the broker is frozen for 12 s: it accepts connections and answers nothing"
    target = "broker"
    duration_seconds = 12.0
    demand = Demand(arrival_seconds=15.0)
    disturbs = frozenset({Part.BROKER})


class BrokerFlushed(BrokerFault):
    name = "broker-flushall"
    description = "FLUSHALL on the broker: queues, unacknowledged messages and sessions are gone"
    disturbs = frozenset({Part.BROKER})

    def inject(self) -> None:
        broker_client().flushall()


class WorkersAway(BrokerFault):
    """The ten minutes are shortened: as many rings and sweeps as ten minutes of a busy sale bring come within half a
    minute, from the harness, beside those of the web processes and of beat. `workers-away-10-minutes` takes the time.

    Holds end long before a worker is back, so the first orders are written late. One buyer still wants to pay.
    """

    name = "workers-away"
    description = (
        f"no worker for 30 s, with the {RINGS:,} rings and the sweeps of 10 minutes: the broker must stay small, and "
        f"holds of {SHORT_HOLD_SECONDS} s that ended meanwhile become orders that can be paid"
    )
    duration_seconds = 0.0
    demand = Demand(buyers=120, arrival_seconds=30.0)
    stock = Stock(hold_seconds=SHORT_HOLD_SECONDS)
    away_seconds = AWAY_SECONDS_SHORT

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._patient = context.extra_buyer("patient", number=3)

    def inject(self) -> None:
        for worker in WORKERS:
            self.shop.keep_down(worker)
        self._patient.reserve(item_id=self.context.item.pk, units=1)
        self._bytes_before = self._used_bytes()
        sweeps = Sweeps(hurry=AWAY_SECONDS / self.away_seconds)
        began_s = time.monotonic()
        for number in range(1, RINGS + 1):
            doorbell.send(self.context.item.pk)
            if number % RINGS_AT_ONCE == 0:
                sweeps.send_due(time.monotonic() - began_s)
                self.shop.wait(max(0.0, began_s + self.away_seconds * number / RINGS - time.monotonic()))
        self._sweeps = sweeps.wanted
        self._messages = {queue: int(broker_client().llen(queue)) for queue in QUEUES}
        self._bytes_meanwhile = self._used_bytes()

    def undo(self) -> None:
        for worker in WORKERS:
            self.shop.bring_up(worker)
        with ThreadPoolExecutor(1) as pool:
            retry = Retry(seconds=PAYING_SECONDS_MAX, stop=threading.Event())
            paying = pool.submit(pay, self._patient, retry=retry, delivery="once")
            self.shop.wait_until(paying.done, seconds_max=2 * PAYING_SECONDS_MAX)

    def took_effect(self) -> bool:
        """Whether far more was wanted than the bounds allow, and orders were written after their holds had ended."""
        many = self._messages[doorbell.QUEUE] >= doorbell.WAITING_MAX and self._sweeps > 2 * sweep_scheduler.WAITING_MAX
        return many and self._late_orders().exists()

    def _late_orders(self) -> QuerySet[Order]:
        """The orders that were written after their holds had ended."""
        hold_time = timedelta(seconds=self.context.item.sale.hold_seconds)
        orders = Order.objects.filter(lines__sale_item=self.context.item)
        return orders.filter(created_at__gt=F("reserved_at") + hold_time)

    def violations(self) -> Sequence[str]:
        violations = list(super().violations())
        drained = self.shop.wait_until(lambda: not any(self._waiting().values()), seconds_max=DRAINED_SECONDS_MAX)
        before, meanwhile, after = (
            used // 1000 for used in (self._bytes_before, self._bytes_meanwhile, self._used_bytes())
        )
        self.variant = (
            f"{RINGS:,} rings and {self._sweeps:,} sweeps wanted in {self.away_seconds:.0f} s, "
            f"{sum(self._messages.values())} messages waited; broker {before} kB before, {meanwhile} kB meanwhile, "
            f"{after} kB after"
        )
        late = self._late_orders().filter(reservation_id=self._patient.credentials.reservation_id)
        if not late.filter(status=OrderStatus.PAID).exists():
            violations.append("the buyer who waited for the workers did not get to pay")
        if not drained:
            violations.append(f"messages still wait: {self._waiting()}")
        for queue, messages in self._messages.items():
            # Each of the two web processes, the harness and beat may add one after they have looked.
            if messages > sweep_scheduler.WAITING_MAX + SENDERS:
                violations.append(f"{messages} messages wait in the queue {queue}")
        if meanwhile - before > GROWTH_KILOBYTES_MAX:
            violations.append(f"the broker grew by {meanwhile - before} kB")
        return violations

    def _waiting(self) -> dict[str, int]:
        """Messages by queue, without those of the sweeps that beat has just sent."""
        lengths = {queue: int(broker_client().llen(queue)) for queue in QUEUES}
        return {queue: length for queue, length in lengths.items() if length > JUST_SENT_MAX}

    def _used_bytes(self) -> int:
        return int(broker_client().info("memory")["used_memory"])


class WorkersAwayFullTime(WorkersAway):
    name = "workers-away-10-minutes"
    description = f"no worker for 10 minutes, with {RINGS:,} rings: the broker must stay small"
    demand = Demand(buyers=240, arrival_seconds=AWAY_SECONDS)
    away_seconds = AWAY_SECONDS


class Sweeps:
    """Sends the tasks of beat's schedule as beat does, `hurry` times as often."""

    def __init__(self, *, hurry: float) -> None:
        current_app.loader.import_default_modules()
        schedule: dict[str, Any] = current_app.conf.beat_schedule
        self._scheduler = SweepScheduler(app=current_app)
        self._every_seconds = {name: entry["schedule"] / hurry for name, entry in schedule.items()}
        self._sent = dict.fromkeys(schedule, 0)

    @property
    def wanted(self) -> int:
        return sum(self._sent.values())

    def send_due(self, elapsed_seconds: float) -> None:
        for name, every_seconds in self._every_seconds.items():
            while self._sent[name] * every_seconds < elapsed_seconds:
                self._sent[name] += 1
                self._scheduler.apply_async(self._scheduler.schedule[name], advance=False)


class BrokerRestarted(BrokerFault, ProcessKilled):
    name = "broker-restarted-20-times"
    description = "kill -9 of the broker 20 times in a minute"
    target = "broker"
    kills = 20
    pause_seconds = (3.0, 3.0)
    duration_seconds = 0.0
    demand = Demand(buyers=120, arrival_seconds=62.0)


def broker_client() -> Any:
    url = urlsplit(settings.REDIS_URL)
    return client_at(url.port or 0, password=url.password or "")
