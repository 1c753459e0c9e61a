"""The cache and broker is killed, frozen or emptied. Messages only wake the workers, so losing them must lose nothing.

After each of these faults a canary must succeed: a reservation becomes an order, and the worker answers a ping.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Part
from bench.faults.raw_valkey import client_at
from bench.faults.shop_under_test import answers
from bench.faults.store_snapshot import reservations_in_database
from bench.faults.trial_sale import Stock, new_item, retire
from seckill import doorbell
from shop import sweep_scheduler

CANARY_SECONDS_MAX = 30.0
WORKERS = ("worker", "errands", "repair")
QUEUES = ("drain", "expiry", "mail", "payments", "repair", "celery")
AWAY_SECONDS = 30.0
# Two web processes ring for an item 20 times a second each, at most.
RINGS = 2 * 20 * 600
RINGS_AT_ONCE = 400
# Hundreds of messages of about one kilobyte, sessions of the buyers, and what the server itself needs.
GROWTH_KILOBYTES_MAX = 4_000
RESTARTS = 20
RESTARTS_SECONDS = 60.0


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


class BrokerDown(BrokerFault):
    name = "broker-down"
    description = "kill -9 of the broker, which stays down for 5 s"
    duration_seconds = 5.0
    demand = Demand(arrival_seconds=9.0)
    disturbs = frozenset({Part.BROKER})

    def inject(self) -> None:
        self.shop.keep_down("broker")

    def undo(self) -> None:
        self.shop.bring_up("broker")


class BrokerPaused(BrokerFault):
    name = "broker-paused"
    description = "the broker is frozen for 12 s: it accepts connections and answers nothing"
    duration_seconds = 12.0
    demand = Demand(arrival_seconds=15.0)
    disturbs = frozenset({Part.BROKER})

    def inject(self) -> None:
        self.shop.freeze("broker")

    def undo(self) -> None:
        self.shop.thaw("broker")


class BrokerFlushed(BrokerFault):
    name = "broker-flushall"
    description = "FLUSHALL on the broker: queues, unacknowledged messages and sessions are gone"
    disturbs = frozenset({Part.BROKER})

    def inject(self) -> None:
        url = urlsplit(settings.REDIS_URL)
        client_at(url.port or 0, password=url.password or "").flushall()


class WorkersAway(BrokerFault):
    """The ten minutes are shortened: as many rings as ten minutes of a busy sale bring come within half a minute, from
    the harness, beside those of the web processes. Beat cannot be hurried and sends what half a minute brings.
    """

    name = "workers-away"
    description = f"no worker for 30 s, with the rings of ten minutes ({RINGS:,}): the broker must stay small"
    duration_seconds = 0.0
    demand = Demand(buyers=120, arrival_seconds=30.0)
    stock = Stock(hold_seconds=45)

    def inject(self) -> None:
        for worker in WORKERS:
            self.shop.keep_down(worker)
        bytes_before = self._used_bytes()
        began_s = time.monotonic()
        for number in range(1, RINGS + 1):
            doorbell.send(self.context.item.pk)
            if number % RINGS_AT_ONCE == 0:
                self.shop.wait(max(0.0, began_s + AWAY_SECONDS * number / RINGS - time.monotonic()))
        self._messages = {queue: int(self._broker().llen(queue)) for queue in QUEUES}
        self._grown_bytes = self._used_bytes() - bytes_before

    def undo(self) -> None:
        for worker in WORKERS:
            self.shop.bring_up(worker)

    def took_effect(self) -> bool:
        return sum(self._messages.values()) >= doorbell.WAITING_MAX

    def violations(self) -> Sequence[str]:
        kilobytes = self._grown_bytes // 1000
        self.variant = f"{sum(self._messages.values())} messages, {kilobytes} kB"
        violations = list(super().violations())
        if self._messages[doorbell.QUEUE] > doorbell.WAITING_MAX + sweep_scheduler.WAITING_MAX:
            violations.append(f"{self._messages[doorbell.QUEUE]} messages wait for a drain")
        if kilobytes > GROWTH_KILOBYTES_MAX:
            violations.append(f"the broker grew by {kilobytes} kB")
        return violations

    def _broker(self) -> Any:
        url = urlsplit(settings.REDIS_URL)
        return client_at(url.port or 0, password=url.password or "")

    def _used_bytes(self) -> int:
        return int(self._broker().info("memory")["used_memory"])


class BrokerRestarted(BrokerFault):
    name = "broker-restarted-20-times"
    description = "kill -9 of the broker 20 times in a minute"
    duration_seconds = 0.0
    demand = Demand(buyers=120, arrival_seconds=62.0)

    def inject(self) -> None:
        for _time in range(RESTARTS):
            self.shop.kill("broker")
            self.shop.wait(RESTARTS_SECONDS / RESTARTS)
