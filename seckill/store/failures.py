"""Why calls to the reservation store failed: two log lines per cause, process and outage, and a counter for Prometheus.

Every call may fail while the store is away, thousands a second. So a call only notes its failure, and a thread of the
process writes the sums (shop/background/shared_counts.py): a line when calls begin to fail, and one with their number
when none has failed for a while.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
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


# An outage is over after so long without a failed call. A process may have only a task that comes twice a minute.
QUIET_SECONDS = 60.0


@dataclass(slots=True)
class Outage:
    """Calls that fail for one cause: how many so far, and when the last one did."""

    count: int
    last_s: float


class FailureLog:
    """Collects failures, by cause."""

    def __init__(self, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._quiet_seconds = quiet_seconds
        self._outages: dict[str, Outage] = {}
        self._messages: dict[str, str] = {}
        self.counts = SharedCounts(prefix="seckill.store.failures", thread_name="store-failures", on_write=self._log)

    def report(self, cause: Cause, message: str) -> None:
        """Note a failure. Returns at once and never raises."""
        self._messages[cause.value] = message
        self.counts.add(cause.value)

    def _log(self, counts: Mapping[str, int]) -> bool:
        """Whether an outage goes on, whose end must be logged."""
        now_s = time.monotonic()
        for cause, count in counts.items():
            outage = self._outages.get(cause)
            if outage is None:
                outage = self._outages[cause] = Outage(0, now_s)
                log.error("reservation_store_failed", cause=cause, error=self._messages[cause])
            outage.count, outage.last_s = outage.count + count, now_s
        over = [cause for cause, outage in self._outages.items() if now_s - outage.last_s >= self._quiet_seconds]
        for cause in over:
            log.warning("reservation_store_no_longer_fails", cause=cause, count=self._outages.pop(cause).count)
        return bool(self._outages)


def failure_counts() -> dict[Cause, int]:
    """How often each cause was met, in all processes, since the cache server was last emptied."""
    found = _failures.counts.in_all_processes([cause.value for cause in Cause])
    return {cause: found[cause.value] for cause in Cause}


_failures = FailureLog()
report_failure = _failures.report
