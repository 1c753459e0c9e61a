"""A time limit for many short waits at once: one timer for all of them, where `asyncio.timeout` needs one for each."""

import asyncio
from types import TracebackType

# How often the waits are looked at, for each of their limits: one ends up to a tenth late.
LOOKS_PER_LIMIT = 10


class Patience:
    """A context for each `await` that may take at most `seconds_max`; then it raises TimeoutError. For one event loop.

    A task may be in it once at a time.
    """

    def __init__(self, *, seconds_max: float) -> None:
        self._seconds_max = seconds_max
        # When each task's wait must end, in the order in which they began. None: it was ended.
        self._ends_s: dict[asyncio.Task[object], float | None] = {}
        self._is_looking = False

    def __enter__(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._ends_s[task] = loop.time() + self._seconds_max
        if not self._is_looking:
            self._look_later(loop)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        was_ended = self._ends_s.pop(task) is None
        # Somebody else may have cancelled the task too, and that counts more.
        if was_ended and task.uncancel() == 0 and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_looking = True
        loop.call_later(self._seconds_max / LOOKS_PER_LIMIT, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_looking = False
        now_s = loop.time()
        for task, end_s in self._ends_s.items():
            if end_s is not None and end_s > now_s:
                break
            if end_s is not None:
                self._ends_s[task] = None
                task.cancel()
        if self._ends_s:
            self._look_later(loop)
