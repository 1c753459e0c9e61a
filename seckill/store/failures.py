"""Why calls to the reservation store failed: one log line per cause, process and second, and a counter for Prometheus.

Every call may fail while the store is away, thousands a second. So a call only notes its failure, and a thread of the
process writes the sums (shop/background/shared_counts.py).
"""

from collections.abc import Mapping
from enum import StrEnum

import structlog

from shop.background.shared_counts import SharedCounts

log = structlog.get_logger(__name__)


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
    """Collects failures, by cause."""

    def __init__(self) -> None:
        self._messages: dict[str, str] = {}
        self.counts = SharedCounts(prefix="seckill.store.failures", thread_name="store-failures", on_write=self._log)

    def report(self, cause: Cause, message: str) -> None:
        """Note a failure. Returns at once and never raises."""
        self._messages[cause.value] = message
        self.counts.add(cause.value)

    def _log(self, counts: Mapping[str, int]) -> None:
        for cause, count in counts.items():
            log.error("reservation_store_failed", cause=cause, count=count, error=self._messages[cause])


def failure_counts() -> dict[Cause, int]:
    """How often each cause was met, in all processes, since the cache server was last emptied."""
    found = _failures.counts.in_all_processes([cause.value for cause in Cause])
    return {cause: found[cause.value] for cause in Cause}


_failures = FailureLog()
report_failure = _failures.report
