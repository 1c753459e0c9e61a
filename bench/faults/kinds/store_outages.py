"""The reservation store is killed or frozen, forgets its scripts, or has no memory left, without losing data."""

import time
from typing import Any

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Part
from bench.faults.kinds.processes import ProcessDown, ProcessFrozen, ProcessKilled

FLUSH_INTERVAL_SECONDS = 0.02
KILLS = 20


class StoreKilled(ProcessKilled):
    name = "store-killed"
    description = "kill -9 of the store in the middle of the sale; it is started again at once"
    target = "store"
    disturbs = frozenset({Part.STORE})


class StoreDown(ProcessDown):
    name = "store-down"
    description = "kill -9 of the store, which stays down for 5 s"
    target = "store"
    duration_seconds = 5.0
    demand = Demand(arrival_seconds=9.0)
    refusals_are_timed = True
    disturbs = frozenset({Part.STORE})


class StorePaused(ProcessFrozen):
    name = "store-paused-20s"
    description = "the store is frozen for 20 s: it accepts connections and answers nothing"
    target = "store"
    duration_seconds = 20.0
    demand = Demand(arrival_seconds=24.0, retry_seconds_max=4.0)
    refusals_are_timed = True


class ScriptFlush(Fault):
    name = "script-flush"
    description = "SCRIPT FLUSH fifty times a second while buyers buy"
    duration_seconds = 0.0
    disturbs = frozenset({Part.STORE})

    def inject(self) -> None:
        store = self.shop.store_client()
        give_up_s = time.monotonic() + 4.0
        while time.monotonic() < give_up_s:
            store.script_flush()
            time.sleep(FLUSH_INTERVAL_SECONDS)


class StoreFull(Fault):
    name = "store-full"
    description = "the store has reached maxmemory, with noeviction, for 4 s"
    duration_seconds = 4.0
    demand = Demand(arrival_seconds=8.0)
    refusals_are_timed = True
    disturbs = frozenset({Part.STORE})

    def inject(self) -> None:
        self._set("1")

    def undo(self) -> None:
        self._set("0")

    def _set(self, maxmemory: str) -> None:
        store: Any = self.shop.store_client()
        store.config_set("maxmemory", maxmemory)
        store.close()


class ConnectionsKilled(Fault):
    name = "store-connections-killed"
    description = "CLIENT KILL of every connection to the store, ten times a second"
    duration_seconds = 0.0
    disturbs = frozenset({Part.STORE})

    def inject(self) -> None:
        store = self.shop.store_client()
        self._killed = 0
        for _time in range(KILLS):
            for kind in ("normal", "pubsub"):
                self._killed += store.client_kill_filter(_type=kind, skipme=True)
            self.shop.wait(0.1)
        self.variant = f"{self._killed} connections killed"

    def took_effect(self) -> bool:
        """Whether the shop had connections, and made new ones to be killed."""
        return self._killed > KILLS
