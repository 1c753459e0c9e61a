"""A daemon thread that starts when it is first needed, one in each process."""

import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger(__name__)


class LazyThread:
    """Calls `step` in its thread after each `wake`; calls of `wake` that come meanwhile are one.

    A forked process has none of its parent's threads: there, the next `wake` starts one. It does so too after an error
    in `step`, and after an attempt for which the process had no room.
    """

    def __init__(self, step: Callable[[], object], *, name: str) -> None:
        self._step = step
        self._name = name
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Have `step` called soon. Returns at once and never raises."""
        if self._thread is None or not self._thread.is_alive():
            self._start()
        # Asking is cheaper than setting, and buyers' calls do it.
        if not self._wanted.is_set():
            self._wanted.set()

    def stop(self) -> None:
        """End the thread after its step, and wait for that unless the step itself calls. `wake` starts another one."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._stopped.set()
            self._wanted.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            stopped = threading.Event()
            thread = threading.Thread(target=self._run, args=(stopped,), name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                # The process cannot start more threads, or is shutting down. The next `wake` tries again.
                log.warning("thread_not_started", thread=self._name, error=repr(error))
            else:
                self._thread, self._stopped = thread, stopped

    def _run(self, stopped: threading.Event) -> None:
        while True:
            self._wanted.wait()
            if stopped.is_set():
                return
            # Cleared before the step: a `wake` during it asks for another one.
            self._wanted.clear()
            self._step()
