"""The reservation store dies, sleeps, forgets its scripts, or has no room; none of it costs it any data."""

import time
from typing import Any

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault
from bench.faults.raw_valkey import ValkeyError

FLUSH_INTERVAL_SECONDS = 0.02


class StoreKilled(Fault):
    name = "store-killed"
    what = "kill -9 of the store in the middle of the sale; it is started again at once"

    def inject(self) -> None:
        self.site.kill("store")


class StoreDown(Fault):
    name = "store-down"
    what = "kill -9 of the store, which stays away for 5 s"
    lasts_seconds = 5.0
    demand = Demand(arrival_seconds=9.0)
    refusals_are_timed = True

    def inject(self) -> None:
        self.site.hold_down("store")

    def heal(self) -> None:
        self.site.let_up("store")


class StorePaused(Fault):
    name = "store-paused-20s"
    what = "the store sleeps for 20 s: it takes connections, and answers nobody"
    lasts_seconds = 20.0
    demand = Demand(arrival_seconds=24.0, patience_seconds=4.0)
    refusals_are_timed = True

    def inject(self) -> None:
        self.site.freeze("store")

    def heal(self) -> None:
        self.site.thaw("store")


class ScriptFlush(Fault):
    name = "script-flush"
    what = "SCRIPT FLUSH fifty times a second while buyers buy"
    lasts_seconds = 0.0

    def inject(self) -> None:
        store = self.site.store_client()
        give_up_s = time.monotonic() + 4.0
        while time.monotonic() < give_up_s:
            store.script_flush()
            time.sleep(FLUSH_INTERVAL_SECONDS)


class StoreFull(Fault):
    name = "store-full"
    what = "maxmemory is reached under noeviction for 4 s"
    lasts_seconds = 4.0
    demand = Demand(arrival_seconds=8.0)
    refusals_are_timed = True

    def inject(self) -> None:
        self._set("1")

    def heal(self) -> None:
        self._set("0")

    def _set(self, maxmemory: str) -> None:
        store: Any = self.site.store_client()
        store.config_set("maxmemory", maxmemory)
        store.close()


class ConnectionsKilled(Fault):
    name = "store-connections-killed"
    what = "CLIENT KILL of every connection to the store, ten times a second"
    lasts_seconds = 0.0

    def inject(self) -> None:
        store = self.site.store_client()
        for _time in range(20):
            for kind in ("normal", "pubsub"):
                try:
                    store.client_kill_filter(_type=kind, skipme=True)
                except ValkeyError:
                    continue
            self.site.wait(0.1)
