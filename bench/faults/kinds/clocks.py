"""A process whose clock is an hour off. PostgreSQL and the store compare deadlines, so it should not matter."""

import time
from dataclasses import replace
from pathlib import Path

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Part

HOUR_SECONDS = 3_600.0


class ClockOff(Fault):
    """Processes are replaced by others with a wrong clock, and at the end by ones with the right clock."""

    processes: tuple[str, ...] = ()
    seconds = HOUR_SECONDS
    needs = frozenset({Part.BROKER, Part.POSTGRES, Part.STORE})
    starts_after_seconds = (0.0, 0.2)
    duration_seconds = 6.0
    # Stopping and starting takes some seconds too.
    demand = Demand(buyers=70, arrival_seconds=12.0)

    def inject(self) -> None:
        self.shop.restart(*self.processes, clock_seconds=self.seconds)
        self.shop.await_answers(*self.processes)

    def undo(self) -> None:
        self.shop.restart(*self.processes)


class WorkerClockAhead(ClockOff):
    name = "clock-worker-ahead"
    description = "the clocks of the workers are an hour ahead"
    processes = ("worker", "errands", "repair")
    disturbs = frozenset({Part.WORKER})


class WorkerClockBehind(WorkerClockAhead):
    name = "clock-worker-behind"
    description = "the clocks of the workers are an hour behind"
    seconds = -HOUR_SECONDS


class BeatClockAhead(ClockOff):
    name = "clock-beat-ahead"
    description = "beat's clock is an hour ahead"
    processes = ("beat",)
    disturbs = frozenset({Part.BEAT})


class BeatClockBehind(BeatClockAhead):
    name = "clock-beat-behind"
    description = "beat's clock is an hour behind"
    seconds = -HOUR_SECONDS


class WebClockAhead(ClockOff):
    name = "clock-web-ahead"
    description = "the clock of one web process is an hour ahead, so every pass looks expired to it"
    processes = ("web2",)
    disturbs = frozenset({Part.WEB})


class WebClockBehind(WebClockAhead):
    name = "clock-web-behind"
    description = "the clock of one web process is an hour behind"
    seconds = -HOUR_SECONDS


class StoreClockAhead(Fault):
    """The store's clock is the clock of the sale: while it is wrong, buyers may be told `closed` or `not_open`."""

    name = "clock-store-ahead"
    description = "the clock of the store is 40 s ahead after a restart, and right again after another one"
    disturbs = frozenset({Part.STORE, Part.DEADLINES})
    seconds = 40.0
    duration_seconds = 4.0
    demand = Demand(buyers=80, arrival_seconds=12.0)

    def inject(self) -> None:
        self._process = self.shop.processes["store"]
        shifted = {**self._process.environment, "LD_PRELOAD": str(faketime()), "FAKETIME": f"{self.seconds:+.0f}s"}
        self.shop.swap("store", replace(self._process, environment=shifted))
        self.shop.await_answers("store")
        seconds, _micros = self.shop.store_client().time()
        seconds_off = seconds - time.time()
        self.variant = f"TIME is {seconds_off:+.0f} s off"
        self.happened = bool(abs(seconds_off - self.seconds) < 2.0)

    def undo(self) -> None:
        self.shop.swap("store", self._process)


class StoreClockBehind(StoreClockAhead):
    name = "clock-store-behind"
    description = "the clock of the store is 40 s behind after a restart, and right again after another one"
    seconds = -40.0


def faketime() -> Path:
    """The library that gives a program another time. Raises FileNotFoundError."""
    for path in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"):
        return path
    raise FileNotFoundError("libfaketime is missing. On Debian: apt install libfaketime")
