"""A scheduler for Celery beat that uses the monotonic clock, stores nothing, and adds to no queue that is too long.

Celery's own scheduler compares wall clock times and stores them in a file. When a clock that was an hour ahead is
corrected, all tasks seem to have run in the future, and none runs for an hour. Running a sweep too early does no harm,
so nothing needs to be stored.

Beat sends some ten messages a second. While no worker takes them, a hundred thousand a day would pile up in the broker.
"""

import time
from datetime import timedelta
from typing import Any

import structlog
from celery.beat import ScheduleEntry, Scheduler
from celery.result import AsyncResult
from celery.schedules import schedstate, schedule

from shop.background.heartbeat import beat_once
from shop.background.outages import AWAY, go_on, wait
from shop.celery import messages_waiting

log = structlog.get_logger(__name__)

# No task is sent to a queue in which so many messages wait: those of minutes. More than WAITING_MAX of the doorbell, so
# that its messages keep no sweep out.
WAITING_MAX = 500
# After a start, no task waits for longer: a beat that is restarted every day would never send a daily one.
FIRST_SECONDS_MAX = 600.0


class SweepEntry(ScheduleEntry):
    """One task and its interval. `sent_s` is the monotonic time from which the interval counts."""

    def __init__(self, *args: Any, sent_s: float | None = None, **more: Any) -> None:
        # Celery copies `sent_s` into the next entry, where it is out of date.
        super().__init__(*args, **more)
        self.sent_s = time.monotonic()
        if sent_s is None and isinstance(self.schedule, schedule):
            self.sent_s -= max(seconds_of(self.schedule) - FIRST_SECONDS_MAX, 0.0)

    def is_due(self) -> tuple[bool, float]:
        if not isinstance(self.schedule, schedule):
            # A crontab needs the wall clock.
            return super().is_due()
        every_seconds = seconds_of(self.schedule)
        remaining_seconds = self.sent_s + every_seconds - time.monotonic()
        if remaining_seconds <= 0:
            return schedstate(is_due=True, next=every_seconds)
        return schedstate(is_due=False, next=remaining_seconds)


def seconds_of(every: schedule) -> float:
    run_every: timedelta = every.run_every  # type: ignore[attr-defined]
    return run_every.total_seconds()


class SweepScheduler(Scheduler):
    """Keeps the schedule in memory, ordered by the monotonic clock."""

    Entry = SweepEntry

    def __init__(self, *args: Any, **more: Any) -> None:
        self._long_queues: set[str] = set()
        super().__init__(*args, **more)

    def tick(self, *args: Any, **more: Any) -> float:
        """One round of beat: send what is due. It ends also while the broker is away."""
        beat_once()
        seconds: float = super().tick(*args, **more)
        return seconds

    def apply_entry(self, entry: ScheduleEntry, producer: Any = None) -> None:
        """Send the task. Celery logs two tracebacks for each one that cannot be sent, ten times a second."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except AWAY as error:
            wait("beat", error)
        else:
            go_on("beat")

    def apply_async(
        self, entry: ScheduleEntry, producer: Any = None, advance: bool = True, **kwargs: Any
    ) -> AsyncResult[Any] | None:
        """Send the task, unless its queue is too long."""
        queue = self.app.amqp.router.route(dict(entry.options or {}), str(entry.task))["queue"].name
        is_long = messages_waiting(self.app, queue) >= WAITING_MAX
        if is_long and queue not in self._long_queues:
            log.warning("queue_too_long", queue=queue, messages=WAITING_MAX)
        (self._long_queues.add if is_long else self._long_queues.discard)(queue)
        if is_long:
            if advance:
                self.reserve(entry)
            return None
        sent: AsyncResult[Any] = super().apply_async(entry, producer=producer, advance=advance, **kwargs)
        return sent

    def _when(self, entry: ScheduleEntry, next_time_to_run: float, mktime: object = None) -> float:
        return time.monotonic() + max(0.0, next_time_to_run or 0.0)
