"""Threads for requests, in lanes: requests that wait for a slow server fill their own lane and no other.

Reserving with a pass asks the reservation store alone, so it has a lane that PostgreSQL and the payment providers
cannot fill. Buyers who pay, messages of payment providers and staff have lanes that a crowd at an opening cannot fill.
Health checks have one that nothing fills.
"""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class LaneFull(Exception):
    """No thread of the lane became free in time. The call has not begun."""


class Lane:
    """A number of threads, and the requests that wait for one. Used from one event loop."""

    def __init__(self, name: str, *, path: str, threads: int, waiting_seconds_max: float) -> None:
        """`path` is a regular expression for the whole path of the requests that use this lane."""
        self.name = name
        self.path = re.compile(path)
        self.threads = threads
        self._waiting_seconds_max = waiting_seconds_max
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread. Raises LaneFull if none was free within `waiting_seconds_max`, and what it raises."""
        future = self._pool.submit(work)
        loop = asyncio.get_running_loop()
        expired = False

        def expire() -> None:
            nonlocal expired
            # False if a thread has begun with it: it is then waited for.
            expired = future.cancel()

        timer = loop.call_later(self._waiting_seconds_max, expire)
        try:
            return await asyncio.wrap_future(future, loop=loop)
        except asyncio.CancelledError:
            if expired:
                raise LaneFull from None
            raise
        finally:
            timer.cancel()


def lanes() -> list[Lane]:
    """The lanes of one web process, in the order in which a path is compared with them."""
    return [
        Lane("health", path=r"/healthz", threads=1, waiting_seconds_max=2),
        # A rush at the opening waits here, and an answer after some seconds is better than a refusal.
        Lane("reserve", path=r"/api/v1/sale-items/\d+/reservations/", threads=8, waiting_seconds_max=5),
        # Open pages ask every second. An id that the store does not know is looked up in PostgreSQL.
        Lane("live", path=r"/api/v1/(sale-items|sales)/\d+/live/", threads=2, waiting_seconds_max=2),
        # Payment providers that report money. No message needs an answer of a provider, so a slow one fills nothing.
        Lane("webhooks", path=r"/api/v1/payments/[^/]+/webhook/", threads=2, waiting_seconds_max=5),
        # Orders, and paying for them. More threads than may wait for a slow provider (CALLS_MAX of call_bound.py).
        Lane("orders", path=r"(/api/v1|/[a-z]+-[a-z]+)?/(orders|pay)/(?s:.*)", threads=6, waiting_seconds_max=5),
        Lane("admin", path=r"/admin/(?s:.*)", threads=2, waiting_seconds_max=5),
        # Everything else. At an opening these are passes, sale pages and the status of reservations.
        Lane("pages", path=r"(?s:.*)", threads=8, waiting_seconds_max=2),
    ]
