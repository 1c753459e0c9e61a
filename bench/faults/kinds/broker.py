"""The cache and broker dies, sleeps, or forgets. Every message is a doorbell, so nothing may be lost with it.

After each of them a canary must run: a reservation whose order appears, which takes broker and worker, and a ping.
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
    """With a canary afterwards, and timed answers meanwhile: no buyer needs the broker."""

    refusals_are_timed = True

    def broken(self) -> Sequence[str]:
        began_s = time.monotonic()
        # A sale of its own: that of the trial may be sold out.
        stage = replace(self.stage, trial=f"{self.name}-canary", item=new_item(f"{self.name}-canary", Stock()))
        canary = stage.caller("canary", number=2)
        answer = canary.reserve(item_id=stage.item.pk, units=1)
        words = []
        if answer.status == 201 and not self.site.wait_until(
            lambda: canary.ticket.reservation_id in reservations_in_database(stage.item.pk),
            seconds_max=CANARY_SECONDS_MAX,
        ):
            words.append(f"the canary's order did not appear within {CANARY_SECONDS_MAX:.0f} s")
        if answer.status != 201:
            words.append(f"the canary was told {answer.word}")
        if not self.site.wait_until(lambda: answers(self.site.parts["worker"]), seconds_max=CANARY_SECONDS_MAX):
            words.append("the worker answers no ping")
        retire(stage.item)
        self.variant = f"{self.variant} canary after {time.monotonic() - began_s:.1f} s".strip()
        return words


class BrokerDown(BrokerFault):
    name = "broker-down"
    what = "kill -9 of the broker, which stays away for 5 s"
    lasts_seconds = 5.0
    demand = Demand(arrival_seconds=9.0)

    def inject(self) -> None:
        self.site.hold_down("broker")

    def heal(self) -> None:
        self.site.let_up("broker")


class BrokerPaused(BrokerFault):
    name = "broker-paused"
    what = "the broker sleeps for 12 s: it takes connections, and answers nobody"
    lasts_seconds = 12.0
    demand = Demand(arrival_seconds=15.0)

    def inject(self) -> None:
        self.site.freeze("broker")

    def heal(self) -> None:
        self.site.thaw("broker")


class BrokerFlushed(BrokerFault):
    name = "broker-flushall"
    what = "FLUSHALL on the broker: queues, unacknowledged messages and sessions are gone"

    def inject(self) -> None:
        url = urlsplit(settings.REDIS_URL)
        client_at(url.port or 0, password=url.password or "").flushall()


class BrokerRestarted(BrokerFault):
    name = "broker-restarted-20-times"
    what = "kill -9 of the broker 20 times in a minute"
    lasts_seconds = 0.0
    demand = Demand(buyers=120, arrival_seconds=62.0)

    def inject(self) -> None:
        for _time in range(RESTARTS):
            self.site.kill("broker")
            self.site.wait(RESTARTS_SECONDS / RESTARTS)
