"""Logs the errors of what answers before Django. Each may come with every call of a stampede."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

log = structlog.get_logger(__name__)

# At most one line in this time.
INTERVAL_SECONDS = 1.0


class Faults:
    """For one event loop and its threads: two errors at once may both be logged."""

    def __init__(self) -> None:
        self._report_again_s = 0.0

    @contextmanager
    def reported(self, event: str) -> Iterator[None]:
        """An error within becomes a line in the log, and nothing else."""
        try:
            yield
        except Exception:
            self.report(event)

    def report(self, event: str) -> None:
        """Log the error that is being handled, unless another was logged just before."""
        now_s = time.monotonic()
        if now_s >= self._report_again_s:
            self._report_again_s = now_s + INTERVAL_SECONDS
            log.exception(event)
