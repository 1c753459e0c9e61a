"""A daemon thread that starts when it is first needed, one in each process."""

import os
import threading
from collections.abc import Callable
from weakref import WeakSet

import structlog

log = structlog.get_logger(__name__)


class LazyThread:
    """Calls `step` in its thread after each `wake`; calls of `wake` that come meanwhile are one.

    A forked process has none of its parent's threads: there, the next `wake` starts one. It does so too after an error
    in `step`, and after an attempt for which the process had no room.
    """

    _all: "WeakSet[LazyThread]" = WeakSet()

    def __init__(self, step: Callable[[], object], *, name: str) -> None:
        self._step = step
        self._name = name
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        # A thread has been woken and has not begun its step. Each call of a buyer asks this, and little else.
        self._is_woken = False
        self._all.add(self)

    def wake(self) -> None:
        """Have `step` called soon. Returns at once and never raises."""
        if self._is_woken:
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._start()
            self._is_woken = self._thread is not None
        self._wanted.set()

    def stop(self) -> None:
        """End the thread after its step, and wait for that unless the step itself calls. `wake` starts another one."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._is_woken = False
            self._stopped.set()
            self._wanted.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _start(self) -> None:
        stopped = threading.Event()
        thread = threading.Thread(target=self._run, args=(stopped,), name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # The process cannot start more threads, or is shutting down. The next `wake` tries again.
            log.warning("thread_not_started", thread=self._name, error=repr(error))
            self._thread = None
        else:
            self._thread, self._stopped = thread, stopped

    def _run(self, stopped: threading.Event) -> None:
        try:
            while True:
                self._wanted.wait()
                if stopped.is_set():
                    return
                # Before the step: a `wake` during it asks for another one.
                self._wanted.clear()
                self._is_woken = False
                self._step()
        finally:
            # After an error: the next `wake` starts a thread.
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None
                self._is_woken = False

    @classmethod
    def _after_fork(cls) -> None:
        """The threads are the parent's."""
        for one in cls._all:
            one._is_woken = False


os.register_at_fork(after_in_child=LazyThread._after_fork)
