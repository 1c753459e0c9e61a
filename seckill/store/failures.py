"""Why calls to the reservation store failed: one log line per cause, process and second, and a counter for Prometheus.

Every call may fail while the store is away, thousands a second. So a call only notes its failure; a thread of the
process writes what came together. The counters are in the cache server, since processes come and go.
"""

import threading
import time
from collections import Counter
from enum import StrEnum

import structlog
from django.core.cache import cache

log = structlog.get_logger(__name__)

INTERVAL_SECONDS = 1.0


class Cause(StrEnum):
    """Why a call failed. The last three do not pass without a person.

    `moving`: the item is on its way to another node of a Cluster. `replicas`: too few replicas have what was written.
    """

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    LOADING = "loading"
    READONLY = "readonly"
    MOVING = "moving"
    REPLICAS = "replicas"
    FULL = "full"
    PASSWORD = "password"
    SCRIPT_ERROR = "script_error"


class FailureLog:
    """Collects failures. Its one thread starts at the first one, so that a forked process has its own."""

    def __init__(self) -> None:
        self._counts: Counter[Cause] = Counter()
        self._messages: dict[Cause, str] = {}
        self._lock = threading.Lock()
        self._reported = threading.Event()
        self._thread: threading.Thread | None = None

    def report(self, cause: Cause, message: str) -> None:
        """Note a failure. Returns at once and never raises."""
        with self._lock:
            self._counts[cause] += 1
            self._messages[cause] = message
            if self._thread is None or not self._thread.is_alive():
                self._start_thread()
        self._reported.set()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._write_forever, name="store-failures", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # The process cannot start more threads, or is shutting down. The next failure tries again.
            log.warning("failure_thread_not_started", error=repr(error))
        else:
            self._thread = thread

    def _write_forever(self) -> None:
        while True:
            self._reported.wait()
            self._reported.clear()
            self.write()
            time.sleep(INTERVAL_SECONDS)

    def write(self) -> None:
        """Log and count what was reported since the last time."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            messages, self._messages = self._messages, {}
        for cause, count in counts.items():
            log.error("reservation_store_failed", cause=cause.value, count=count, error=messages[cause])
        try:
            for cause, count in counts.items():
                cache.add(key_of(cause), 0, timeout=None)
                cache.incr(key_of(cause), count)
        except Exception as error:
            # The cache server is away too, or was emptied in between. The log has the counts.
            log.warning("store_failures_not_counted", error=repr(error))


def key_of(cause: Cause) -> str:
    return f"seckill.store.failures.{cause.value}"


def failure_counts() -> dict[Cause, int]:
    """How often each cause was met, in all processes, since the cache server was last emptied."""
    found = cache.get_many([key_of(cause) for cause in Cause])
    return {cause: int(found.get(key_of(cause), 0)) for cause in Cause}


_failures = FailureLog()
report_failure = _failures.report
