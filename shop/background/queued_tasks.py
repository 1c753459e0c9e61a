"""Celery tasks that say their queue, and sweeps, which also say how often beat sends them.

A sweep does all the work that is due, so it skips queued duplicates after an outage. A message expires only after two
hours, because Celery compares its expiry with the worker's clock, which may be an hour off. So after an hour without
workers thousands of messages are queued. The first one does the work; those that follow immediately return without
doing anything.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from typing import Any

from celery import Task, shared_task
from celery.contrib.django.task import DjangoTask
from django.db import close_old_connections

from shop.background.outages import AWAY, go_on, wait
from shop.background.sweep_notes import note_success, waited_seconds
from shop.celery import app
from shop.databases.kept_connections import close_unusable_connections

# A late sweep expires, since the next one does the same.
EXPIRES_SECONDS = 7200
# Beat sends a task at most once a second, so a message that starts sooner than this was waiting in the queue.
GAP_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Sweep:
    """What beat sends, to which queue, and how often."""

    queue: str
    every_seconds: float


# By the name of the task.
QUEUES: dict[str, str] = {}
# By the name of the function, as beat's schedule has them.
SWEEPS: dict[str, Sweep] = {}
_ended_at: dict[str, float] = {}
_discovery = Lock()


class KeepingTask(DjangoTask[Any, Any]):
    """Uses the connections of the task before it, as a thread of the web server does with those of requests.

    A new one costs both sides more than a sweep that finds nothing to do. Celery would close them around each task, but
    for CELERY_DB_REUSE_MAX.
    """

    def before_start(self, *args: Any, **more: Any) -> None:
        # A task that runs in its caller has the caller's connection, and perhaps its transaction.
        if not self.request.is_eager:
            close_unusable_connections()

    def after_return(self, *args: Any, **more: Any) -> None:
        if not self.request.is_eager:
            close_old_connections()


def queue_of(name: str, *_args: object, **_more: object) -> dict[str, str] | None:
    """The setting CELERY_TASK_ROUTES: the queue that the task says; None for Celery's default."""
    return {"queue": QUEUES[name]} if name in QUEUES else None


def queued_task(*, queue: str, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a Celery task of a function. Its messages go to `queue`; `options` are those of the task."""

    def decorate(function: Callable[..., Any]) -> Any:
        QUEUES[name_of(function)] = queue
        return shared_task(**{"base": KeepingTask, **options})(function)

    return decorate


def sweep(*, queue: str, every_seconds: float | None, **options: Any) -> Callable[[Callable[[], int]], Any]:
    """Make a sweep of a function that does all the work that is due and returns how much that was.

    While a server is away it returns 0: the next one does the work.

    Beat sends it every `every_seconds`; not at all if that is None.
    """

    def decorate(function: Callable[[], int]) -> Any:
        name = name_of(function)

        @wraps(function)
        def task(self: Task[Any, Any]) -> int:
            if not self.request.called_directly and time.monotonic() - _ended_at.get(name, 0.0) < GAP_SECONDS:
                return 0
            try:
                count = function()
            except AWAY as error:
                wait(name, error)
                return 0
            else:
                go_on(name)
                if not self.request.called_directly:
                    waited = waited_seconds(expires=self.request.expires, life_seconds=EXPIRES_SECONDS)
                    note_success(function.__name__, waited_seconds=waited)
                return count
            finally:
                _ended_at[name] = time.monotonic()

        if every_seconds is not None:
            key = function.__name__
            SWEEPS[key] = Sweep(queue, every_seconds)
            app.add_periodic_task(every_seconds, app.signature(name), name=key, queue=queue, expires=EXPIRES_SECONDS)
        return queued_task(queue=queue, bind=True, **options)(task)

    return decorate


def known_sweeps() -> dict[str, Sweep]:
    """All sweeps. A web process has imported only some of the modules that have them."""
    # One thread at a time: another one would see a module that is half imported.
    with _discovery:
        app.autodiscover_tasks(force=True)
        return dict(SWEEPS)


def name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__name__}"
