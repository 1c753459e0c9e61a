"""Receives the bodies of requests in the event loop, within bounds of time and memory."""

import asyncio
from types import TracebackType

from granian.rsgi import HTTPProtocol  # type: ignore[attr-defined]

# For the whole body. The shop's forms and calls are small, so even a slow phone sends one in less.
BODY_SECONDS_MAX = 10.0
# No upload of the shop is larger. Django and the API's parser have smaller bounds for what they read.
BODY_BYTES_MAX = 10_000_000
# For all bodies together that one process is receiving.
BODIES_BYTES_MAX = 64_000_000
# How often the timer checks the waits within one limit: a wait ends up to a tenth late.
CHECKS_PER_LIMIT = 10


class BodyRefused(Exception):
    """The body is not received. `status` is the HTTP status of the answer."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Bodies:
    """The bodies that one web process is receiving. Used from one event loop."""

    def __init__(self) -> None:
        self._patience = Patience(seconds_max=BODY_SECONDS_MAX)
        self._bytes = 0

    async def receive(self, protocol: HTTPProtocol, *, length: int) -> bytes:
        """The whole body. Raises BodyRefused if it is too large or too slow, and ProtocolClosed."""
        if length > BODY_BYTES_MAX:
            raise BodyRefused(413)
        if self._bytes + length > BODIES_BYTES_MAX:
            raise BodyRefused(503)
        self._bytes += length
        try:
            with self._patience:
                body: bytes = await protocol()
                return body
        except TimeoutError:
            raise BodyRefused(408) from None
        finally:
            self._bytes -= length


class Patience:
    """One timer for many short waits at once, where `asyncio.timeout` needs one for each.

    A context for each `await` that may take at most `seconds_max`; then it raises TimeoutError. For one event loop.

    A task may be in it once at a time.
    """

    def __init__(self, *, seconds_max: float) -> None:
        self._seconds_max = seconds_max
        # When each task's wait must end, in the order in which they began. None: the timer has ended it.
        self._ends_s: dict[asyncio.Task[object], float | None] = {}
        self._is_checking = False

    def __enter__(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._ends_s[task] = loop.time() + self._seconds_max
        if not self._is_checking:
            self._check_later(loop)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        was_ended = self._ends_s.pop(task) is None
        # If another caller has cancelled the task too, that cancellation goes on.
        if was_ended and task.uncancel() == 0 and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def _check_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_checking = True
        loop.call_later(self._seconds_max / CHECKS_PER_LIMIT, self._check, loop)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_checking = False
        now_s = loop.time()
        for task, end_s in self._ends_s.items():
            if end_s is not None and end_s > now_s:
                break
            if end_s is not None:
                self._ends_s[task] = None
                task.cancel()
        if self._ends_s:
            self._check_later(loop)
