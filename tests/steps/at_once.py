"""Calls made at once, in threads that leave no connection open: one would keep the database from being dropped."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connections

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
