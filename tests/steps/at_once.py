"""Calls made at once, in threads that leave no connection open: one would keep the database from being dropped."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any, TypeVar
from unittest import mock

from django.db import connections

from tests.processes import wait_until
from tests.steps.operating import waiting_for_locks

Answer = TypeVar("Answer")


def at_once(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """The answers, in the order of the calls, which start at one barrier. Raises what one of them has raised."""
    barrier = Barrier(len(calls))

    def one(call: Callable[[], Answer]) -> Answer:
        barrier.wait(timeout=30)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [found.result() for found in [threads.submit(run_and_close(one), call) for call in calls]]


def run_and_close(work: Callable[..., Answer]) -> Callable[..., Answer]:
    """For a thread of its own: close its connections when the work is done."""

    def run(*args: object) -> Answer:
        try:
            return work(*args)
        finally:
            connections.close_all()

    return run


@contextmanager
def in_the_middle(
    module: Any, name: str, work: Callable[[], Answer], *, after: bool = False
) -> Iterator[list[Future[Answer]]]:
    """Start `work` in a thread of its own before, or after, the module's first call of its function `name`.

    The module goes on when the work has ended or waits for a lock. The future of the work is then in the list.
    """
    called, started = getattr(module, name), list[Future[Answer]]()

    def start() -> None:
        started.append(thread.submit(run_and_close(work)))
        wait_until(lambda: started[0].done() or waiting_for_locks() > 0, seconds_max=30)

    def call(*args: Any, **options: Any) -> Any:
        is_first = not started
        if is_first and not after:
            start()
        answer = called(*args, **options)
        if is_first and after:
            start()
        return answer

    with ThreadPoolExecutor(1) as thread, mock.patch.object(module, name, call):
        yield started
