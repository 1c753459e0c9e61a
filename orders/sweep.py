"""A task that beat rings every second and that may find a long queue of its own rings after an outage.

Rings live for two hours, since they are compared with the worker's clock and clocks may be an hour off. So a worker
that was away for an hour finds thousands of them; it does the work once and lets those at its heels go by.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from celery import Task, shared_task

# Beat rings once a second; what comes sooner was waiting in the queue.
GAP_SECONDS = 0.2

_ended_at: dict[str, float] = {}


def sweep(**options: Any) -> Callable[[Callable[[], int]], Any]:
    """Make a Celery task of a function that does whatever is to be done and says how much that was."""

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
