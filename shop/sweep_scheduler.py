"""Beat for sweeps: rings by the monotonic clock and remembers nothing.

Celery's own scheduler compares wall clocks and keeps them in a file: after a clock that was an hour ahead is put right,
it finds that everything was done in an hour's time, and waits for it. A sweep that comes too early does no harm, so
there is nothing to remember.
"""

import time
from datetime import timedelta
from typing import Any

from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import schedstate, schedule


class SweepEntry(ScheduleEntry):
    """One task and how often it is rung. `rung_s` is the monotonic clock at the last ring, or at the start."""

    def __init__(self, *args: Any, rung_s: float | None = None, **more: Any) -> None:
        # Celery makes the next entry of what this one holds; `rung_s` is among it, and is old by then.
        super().__init__(*args, **more)
        self.rung_s = time.monotonic()

    def is_due(self) -> tuple[bool, float]:
        if not isinstance(self.schedule, schedule):
            # A crontab is about the wall clock.
            return super().is_due()
        run_every: timedelta = self.schedule.run_every  # type: ignore[attr-defined]
        every_seconds = run_every.total_seconds()
        remaining_seconds = self.rung_s + every_seconds - time.monotonic()
        if remaining_seconds <= 0:
            return schedstate(is_due=True, next=every_seconds)
        return schedstate(is_due=False, next=remaining_seconds)


class SweepScheduler(Scheduler):
    """Keeps the schedule of the settings in memory, in the order of the monotonic clock."""

    Entry = SweepEntry

    def _when(self, entry: ScheduleEntry, next_time_to_run: float, mktime: object = None) -> float:
        return time.monotonic() + max(0.0, next_time_to_run or 0.0)
