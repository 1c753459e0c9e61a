"""Lanes of threads for requests: requests that wait for a slow server fill only their own lane.

Reserving with a pass asks the reservation store alone, so it has a lane that PostgreSQL and the payment providers
cannot fill. Buyers who pay, messages of payment providers and staff have lanes that a crowd at an opening cannot fill.
Searches and large files, which anybody may ask for in any number, and sign-ins, which take a core for 20 ms, have
small lanes, and health checks one of their own.
"""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar, cast

from shop.background.shared_counts import SharedCounts
from shop.background.shared_histogram import SharedHistogram
from web.addresses import BOARD, CATALOGUE, DRAW_FILE, LIVE, ORDERS, QUEUE, RESERVE, SIGN_IN, WEBHOOK

T = TypeVar("T")

# The answer to a call that was given up.
GIVEN_UP = object()

# From a request's arrival in its lane to its answer. Refusals are the two seconds that most lanes wait, and more. What
# the hot lane answers in the event loop is not here: nothing is added to a reservation.
lane_seconds = SharedHistogram(
    prefix="web.lanes.seconds", thread_name="lane-seconds", bounds=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
)
full_lanes = SharedCounts(prefix="web.lanes.full", thread_name="full-lanes")


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
        # Not a ThreadPoolExecutor: with its futures, handing over a call costs the process more than twice as much.
        self._calls: SimpleQueue[WaitingCall] = SimpleQueue()
        self._started = False

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread. Raises LaneFull if none was free within `waiting_seconds_max`, and what it raises."""
        if not self._started:
            self._start_threads()
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        call = WaitingCall(work, loop)
        self._calls.put(call)
        timer = loop.call_later(self._waiting_seconds_max, call.give_up)
        try:
            answer = await call.answer
        finally:
            timer.cancel()
            # Where the client has gone, a call that has not begun does not begin.
            call.withdraw()
        if answer is GIVEN_UP:
            full_lanes.add(self.name)
            raise LaneFull
        lane_seconds.observe(self.name, loop.time() - began_s)
        return cast(T, answer)

    def _start_threads(self) -> None:
        for number in range(self.threads):
            Thread(target=self._work, name=f"{self.name}_{number}", daemon=True).start()
        self._started = True

    def _work(self) -> None:
        while True:
            self._calls.get().run()


def nothing() -> None:
    """The work of a call that was given up."""


class WaitingCall:
    """A call that waits for a thread. Either a thread claims it, or the event loop gives it up."""

    def __init__(self, work: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.answer: asyncio.Future[Any] = loop.create_future()
        self._work = work
        self._loop = loop
        self._claims = [None]

    def claim(self) -> bool:
        """True for the first caller. If two threads take from the list at once, one gets the entry."""
        try:
            self._claims.pop()
        except IndexError:
            return False
        return True

    def give_up(self) -> None:
        if self.withdraw() and not self.answer.done():
            # An error would have a traceback, and in its frames the body.
            self.answer.set_result(GIVEN_UP)

    def withdraw(self) -> bool:
        """Whether the call has not begun; then it never will. Its body goes, while the list still has the call."""
        if not self.claim():
            return False
        self._work = nothing
        return True

    def run(self) -> None:
        """In a thread of the lane."""
        if not self.claim():
            return
        answer, error = None, None
        try:
            answer = self._work()
        except BaseException as raised:
            error = raised
        # RuntimeError: the event loop is closed, since the process ends.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._finish, answer, error)

    def _finish(self, answer: Any, error: BaseException | None) -> None:
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(answer)
        else:
            self.answer.set_exception(error)


def lanes() -> list[Lane]:
    """The lanes of one web process, in the order in which a path is compared with them."""
    return [
        Lane("health", path=r"/healthz", threads=1, waiting_seconds_max=2),
        # The pages of operators, also while a server is silent and all threads of pages wait for it.
        Lane("operators", path=r"/(readyz|metrics)", threads=2, waiting_seconds_max=2),
        # Needs no SQL, and waits for no server for long: boards go on while one is silent.
        Lane("boards", path=BOARD, threads=2, waiting_seconds_max=2),
        # A rush at the opening waits here, and an answer after some seconds is better than a refusal.
        Lane("reserve", path=RESERVE, threads=8, waiting_seconds_max=5),
        # Open pages ask every second. An id that the store does not know is looked up in PostgreSQL. People who join a
        # waiting room stand here too, where they keep nobody from a pass.
        Lane("live", path=f"{LIVE}|{QUEUE}", threads=2, waiting_seconds_max=2),
        # Messages of payment providers about money. Handling one asks no provider, so a slow provider cannot fill it.
        Lane("webhooks", path=WEBHOOK, threads=2, waiting_seconds_max=5),
        # Checkouts and orders. More threads than may wait for a slow payment provider (CALLS_MAX of call_bound.py).
        Lane(
            "orders",
            path=ORDERS,
            threads=6,
            waiting_seconds_max=5,
        ),
        Lane("admin", path=r"/admin/(?s:.*)", threads=2, waiting_seconds_max=5),
        # Anybody can search, and a search may take PostgreSQL long. Passes and sign-ins do not wait for it.
        Lane("catalogue", path=CATALOGUE, threads=2, waiting_seconds_max=2),
        # A password takes a core for 20 ms: in the threads of passes, a crowd that signs in would hold them all.
        Lane("sign-in", path=SIGN_IN, threads=2, waiting_seconds_max=5),
        # 200 kilobytes, which anybody may ask for in any number, and the file of a draw, which has some megabytes.
        Lane("schema", path=rf"/api/schema/|{DRAW_FILE}", threads=1, waiting_seconds_max=2),
        # Everything else. At an opening these are passes, sale pages and the status of reservations.
        Lane("pages", path=r"(?s:.*)", threads=4, waiting_seconds_max=2),
    ]
