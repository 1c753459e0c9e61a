"""A process whose clock is an hour off. Deadlines are compared by PostgreSQL and the store, so nobody should notice."""

from orders.faults.crowd import Demand
from orders.faults.fault import Fault

HOUR_SECONDS = 3_600.0


class ClockOff(Fault):
    """The process is stopped, and one with another clock takes its place; in the end the right one is back."""

    process = ""
    seconds = HOUR_SECONDS
    begins_seconds = (0.0, 0.2)
    lasts_seconds = 6.0
    # Stopping and starting takes some seconds by itself.
    demand = Demand(buyers=70, arrival_seconds=12.0)

    def inject(self) -> None:
        self.site.swap(self.process, self.site.process(self.process, clock_seconds=self.seconds))
        self.site.await_answers(self.process)

    def heal(self) -> None:
        self.site.swap(self.process, self.site.process(self.process))


class WorkerClockAhead(ClockOff):
    name = "clock-worker-ahead"
    what = "the worker's clock is an hour ahead"
    process = "worker"


class WorkerClockBehind(ClockOff):
    name = "clock-worker-behind"
    what = "the worker's clock is an hour behind"
    process = "worker"
    seconds = -HOUR_SECONDS


class BeatClockAhead(ClockOff):
    name = "clock-beat-ahead"
    what = "beat's clock is an hour ahead"
    process = "beat"


class BeatClockBehind(ClockOff):
    name = "clock-beat-behind"
    what = "beat's clock is an hour behind"
    process = "beat"
    seconds = -HOUR_SECONDS


class WebClockAhead(ClockOff):
    name = "clock-web-ahead"
    what = "the clock of one of the web processes is an hour ahead; it takes every pass for expired"
    process = "web2"


class WebClockBehind(ClockOff):
    name = "clock-web-behind"
    what = "the clock of one of the web processes is an hour behind"
    process = "web2"
    seconds = -HOUR_SECONDS
