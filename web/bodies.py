"""Receives the bodies of requests in the event loop, within bounds of time and memory.

A body is refused by its announced length. A call of the API and an ordinary form are small, and the number of
connections bounds how many there are. Larger bodies share a bounded memory until they are answered, those for the admin
apart from the others: sockets that announce much keep out only others that announce much.
"""

import asyncio
from types import TracebackType

from django.conf import settings
from granian.rsgi import HTTPProtocol  # type: ignore[attr-defined]

from shop.http.parsers import BODY_BYTES_MAX

# For the whole body. The shop's forms and calls are small, so even a slow phone sends one in less.
BODY_SECONDS_MAX = 10.0
# A longer body is a large one. The API takes none.
SMALL_BYTES_MAX = BODY_BYTES_MAX
# For the large bodies of one process that are being received or answered: as much for the admin, as much for the rest.
LARGE_BYTES_MAX = 64_000_000
# How often the timer checks the waits within one limit: a wait ends up to a tenth late.
CHECKS_PER_LIMIT = 10


class BodyRefused(Exception):
    """The body is not received. `status` is the HTTP status of the answer."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def bytes_max(path: str) -> int:
    """How long the body of a request to this path may be. The same bounds are in deploy/nginx/stampede.conf."""
    if path.startswith("/api/"):
        return BODY_BYTES_MAX
    form: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    # Staff alone send files: the largest that is taken, and the form around it.
    return max(settings.PICTURE_BYTES_MAX, settings.IMPORT_BYTES_MAX) + form if is_for_staff(path) else form


def is_for_staff(path: str) -> bool:
    return path.startswith("/admin/")


class Bodies:
    """The bodies that one web process is receiving. Used from one event loop."""

    def __init__(self) -> None:
        self._patience = Patience(seconds_max=BODY_SECONDS_MAX)
        # Bytes of large bodies, of the admin (True) and of the rest.
        self._taken = {True: 0, False: 0}

    def taken(self, path: str) -> int:
        """The bytes of large bodies that share their memory with one to this path."""
        return self._taken[is_for_staff(path)]

    def take(self, path: str, *, length: int) -> int:
        """Take memory for a body, until it is answered; returns what must be given back then.

        Raises BodyRefused if the body is too long, or no memory is free.
        """
        if length <= SMALL_BYTES_MAX:
            return 0
        if length > bytes_max(path):
            raise BodyRefused(413)
        taken, kind = self.taken(path), is_for_staff(path)
        # A body that is larger than all the memory is received alone.
        if taken and taken + length > LARGE_BYTES_MAX:
            raise BodyRefused(503)
        self._taken[kind] += length
        return length

    def give_back(self, path: str, taken: int) -> None:
        self._taken[is_for_staff(path)] -= taken

    async def receive(self, protocol: HTTPProtocol) -> bytes:
        """The whole body. Raises BodyRefused if it is too slow, and ProtocolClosed."""
        try:
            with self._patience:
                body: bytes = await protocol()
                return body
        except TimeoutError:
            raise BodyRefused(408) from None

    async def refuse_unannounced(self, protocol: HTTPProtocol) -> None:
        """Return at the end of a request without a body. Raises BodyRefused where one comes, or no end.

        A body without a length may be of any size, so only its first bytes are received.
        """
        try:
            with self._patience:
                async for part in protocol:
                    if part:
                        raise BodyRefused(411)
        except TimeoutError:
            raise BodyRefused(408) from None


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
