"""A process whose clock is an hour off. Deadlines are compared by PostgreSQL and the store, so nobody should notice."""

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault

HOUR_SECONDS = 3_600.0


class ClockOff(Fault):
    """The process is stopped, and one with another clock takes its place; in the end the right one is back."""

    processes: tuple[str, ...] = ()
    seconds = HOUR_SECONDS
    begins_seconds = (0.0, 0.2)
    lasts_seconds = 6.0
    # Stopping and starting takes some seconds by itself.
    demand = Demand(buyers=70, arrival_seconds=12.0)

    def inject(self) -> None:
        self._swap(clock_seconds=self.seconds)
        self.site.await_answers(*self.processes)

    def heal(self) -> None:
        self._swap(clock_seconds=0.0)

    def _swap(self, *, clock_seconds: float) -> None:
        for name in self.processes:
            self.site.swap(name, self.site.process(name, clock_seconds=clock_seconds))


class WorkerClockAhead(ClockOff):
    name = "clock-worker-ahead"
    what = "the clocks of the workers are an hour ahead"
    processes = ("worker", "errands")


class WorkerClockBehind(ClockOff):
    name = "clock-worker-behind"
    what = "the clocks of the workers are an hour behind"
    processes = ("worker", "errands")
    seconds = -HOUR_SECONDS


class BeatClockAhead(ClockOff):
    name = "clock-beat-ahead"
    what = "beat's clock is an hour ahead"
    processes = ("beat",)


class BeatClockBehind(ClockOff):
    name = "clock-beat-behind"
    what = "beat's clock is an hour behind"
    processes = ("beat",)
    seconds = -HOUR_SECONDS


class WebClockAhead(ClockOff):
    name = "clock-web-ahead"
    what = "the clock of one of the web processes is an hour ahead; it takes every pass for expired"
    processes = ("web2",)


class WebClockBehind(ClockOff):
    name = "clock-web-behind"
    what = "the clock of one of the web processes is an hour behind"
    processes = ("web2",)
    seconds = -HOUR_SECONDS
