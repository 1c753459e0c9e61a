"""One thread for calls that may hang: callers wait as long as they choose, and the thread as long as it must."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from django.db import connections

from shop.background.lazy_thread import LazyThread

T = TypeVar("T")


class BoundedThread:
    """Makes one call after the other. However many callers give up, one thread waits for a server that is silent.

    No time limit of a client helps against a PostgreSQL server that is stopped: the kernel of its host goes on
    accepting what is sent, so the connection looks healthy.
    """

    def __init__(self, *, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._thread = LazyThread(self._make_calls, name=name)

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """The answer to come, for `in_time`."""
        answer: Future[T] = Future()
        self._calls.put((answer, call))
        self._thread.wake()
        return answer

    def _make_calls(self) -> None:
        while True:
            try:
                answer, call = self._calls.get_nowait()
            except Empty:
                return
            if answer.set_running_or_notify_cancel():
                make(call, answer)


def make(call: Callable[[], T], answer: Future[T]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:
        answer.set_exception(error)
    finally:
        # The next call may come in an hour.
        connections.close_all()


def in_time(answer: Future[T], *, until_s: float) -> T:
    """The answer of the call, if it comes before `until_s` of the monotonic clock.

    Raises TimeoutError, and what the call raises. A call that has not begun by then never does.
    """
    try:
        return answer.result(timeout=max(until_s - time.monotonic(), 0))
    finally:
        answer.cancel()
