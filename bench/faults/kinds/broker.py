"""The cache and broker is killed, frozen or emptied. Messages only wake the workers, so losing them must lose nothing.

After each of these faults a canary must succeed: a reservation becomes an order, and the worker answers a ping.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from django.conf import settings

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault
from bench.faults.raw_valkey import client_at
from bench.faults.shop_under_test import answers
from bench.faults.store_snapshot import reservations_in_database
from bench.faults.trial_sale import Stock, new_item, retire

CANARY_SECONDS_MAX = 30.0
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

    def inject(self) -> None:
        self.shop.keep_down("broker")

    def undo(self) -> None:
        self.shop.bring_up("broker")


class BrokerPaused(BrokerFault):
    name = "broker-paused"
    description = "the broker is frozen for 12 s: it accepts connections and answers nothing"
    duration_seconds = 12.0
    demand = Demand(arrival_seconds=15.0)

    def inject(self) -> None:
        self.shop.freeze("broker")

    def undo(self) -> None:
        self.shop.thaw("broker")


class BrokerFlushed(BrokerFault):
    name = "broker-flushall"
    description = "FLUSHALL on the broker: queues, unacknowledged messages and sessions are gone"

    def inject(self) -> None:
        url = urlsplit(settings.REDIS_URL)
        client_at(url.port or 0, password=url.password or "").flushall()


class BrokerRestarted(BrokerFault):
    name = "broker-restarted-20-times"
    description = "kill -9 of the broker 20 times in a minute"
    duration_seconds = 0.0
    demand = Demand(buyers=120, arrival_seconds=62.0)

    def inject(self) -> None:
        for _time in range(RESTARTS):
            self.shop.kill("broker")
            self.shop.wait(RESTARTS_SECONDS / RESTARTS)
