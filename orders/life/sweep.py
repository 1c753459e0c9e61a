"""Tasks that beat sends every second, and that skip queued duplicates after an outage.

A message expires only after two hours, because Celery compares its expiry with the worker's clock, which may be an hour
off. So after an hour without workers thousands of messages are queued. The first one does the work; those that follow
immediately return without doing anything.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from celery import Task, shared_task

# Beat sends a task at most once a second, so a message that starts sooner than this was waiting in the queue.
GAP_SECONDS = 0.2

_ended_at: dict[str, float] = {}


def sweep(**options: Any) -> Callable[[Callable[[], int]], Any]:
    """Make a Celery task of a function that does all the work that is due and returns how much that was."""

    def decorate(function: Callable[[], int]) -> Any:
        @shared_task(bind=True, **options)
        @wraps(function)
        def task(self: Task[Any, Any]) -> int:
            name = function.__name__
            if not self.request.called_directly and time.monotonic() - _ended_at.get(name, 0.0) < GAP_SECONDS:
                return 0
            try:
                return function()
            finally:
                _ended_at[name] = time.monotonic()

        return task

    return decorate
