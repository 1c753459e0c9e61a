"""Tasks that beat sends at an interval, and that skip queued duplicates after an outage.

A message expires only after two hours, because Celery compares its expiry with the worker's clock, which may be an hour
off. So after an hour without workers thousands of messages are queued. The first one does the work; those that follow
immediately return without doing anything.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from celery import Task, shared_task

from shop.celery import app

# A late sweep expires, since the next one does the same.
EXPIRES_SECONDS = 7200
# Beat sends a task at most once a second, so a message that starts sooner than this was waiting in the queue.
GAP_SECONDS = 0.2

_ended_at: dict[str, float] = {}


def sweep(*, queue: str, every_seconds: float | None, **options: Any) -> Callable[[Callable[[], int]], Any]:
    """Make a Celery task of a function that does all the work that is due and returns how much that was.

    Beat sends it to `queue` every `every_seconds`; not at all if that is None. `options` are those of the task.
    """

    def decorate(function: Callable[[], int]) -> Any:
        name = function.__name__

        @shared_task(bind=True, queue=queue, **options)
        @wraps(function)
        def task(self: Task[Any, Any]) -> int:
            if not self.request.called_directly and time.monotonic() - _ended_at.get(name, 0.0) < GAP_SECONDS:
                return 0
            try:
                return function()
            finally:
                _ended_at[name] = time.monotonic()

        if every_seconds is not None:
            message = app.signature(f"{function.__module__}.{name}")
            app.add_periodic_task(every_seconds, message, name=name, queue=queue, expires=EXPIRES_SECONDS)
        return task

    return decorate
