"""A scheduler for Celery beat that uses the monotonic clock and stores nothing.

Celery's own scheduler compares wall clock times and stores them in a file. When a clock that was an hour ahead is
corrected, all tasks seem to have run in the future, and none runs for an hour. Running a sweep too early does no harm,
so nothing needs to be stored.
"""

import time
from datetime import timedelta
from typing import Any

from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import schedstate, schedule


class SweepEntry(ScheduleEntry):
    """One task and its interval. `sent_s` is the monotonic time at which it was last sent, or of the start."""

    def __init__(self, *args: Any, sent_s: float | None = None, **more: Any) -> None:
        # Celery copies `sent_s` into the next entry, where it is out of date.
        super().__init__(*args, **more)
        self.sent_s = time.monotonic()

    def is_due(self) -> tuple[bool, float]:
        if not isinstance(self.schedule, schedule):
            # A crontab needs the wall clock.
            return super().is_due()
        run_every: timedelta = self.schedule.run_every  # type: ignore[attr-defined]
        every_seconds = run_every.total_seconds()
        remaining_seconds = self.sent_s + every_seconds - time.monotonic()
        if remaining_seconds <= 0:
            return schedstate(is_due=True, next=every_seconds)
        return schedstate(is_due=False, next=remaining_seconds)


class SweepScheduler(Scheduler):
    """Keeps the schedule in memory, ordered by the monotonic clock."""

    Entry = SweepEntry

    def _when(self, entry: ScheduleEntry, next_time_to_run: float, mktime: object = None) -> float:
        return time.monotonic() + max(0.0, next_time_to_run or 0.0)
