"""How long calls of a few people take while a crowd is served."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from bench.http_requests import request
from bench.percentiles import percentile
from bench.stampede.setup import Address

# After each call of a thread, so that an idle shop does not notice the calls.
PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class CallTimes:
    """How long the calls of one kind took, in milliseconds; `failed` had no answer, or another one than 200 or 201."""

    calls: int
    failed: int
    p50_ms: float
    p99_ms: float
    longest_ms: float


class CallingThreads:
    """Threads that make timed calls from the beginning of the `with` to its end, each call on a new connection."""

    def __init__(
        self, *, address: Address, work: Mapping[str, Callable[[], None]], pause_seconds: float = PAUSE_SECONDS
    ) -> None:
        """`work` is what each thread does until `ended`, by the thread's name."""
        self._address = address
        self._pause_seconds = pause_seconds
        self._ended = threading.Event()
        # By kind of call.
        self._seconds: defaultdict[str, list[float]] = defaultdict(list)
        self._failed: Counter[str] = Counter()
        self._threads = [threading.Thread(target=target, name=name) for name, target in work.items()]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def call(self, kind: str, method: str, path: str, **details: Any) -> dict[str, Any]:
        """One call, the answer's JSON object if it has one and did not fail, and a pause."""
        started_s = time.perf_counter()
        reply = request(self._address.port, method, path, host=self._address.host, **details)
        self._seconds[kind].append(time.perf_counter() - started_s)
        failed = reply.status not in (200, 201)
        self._failed[kind] += failed
        self._ended.wait(self._pause_seconds)
        return {} if failed else reply.json_object

    def times_of(self, kind: str) -> CallTimes:
        """The measurements so far."""
        ordered_ms = sorted(1000 * seconds for seconds in self._seconds[kind])
        return CallTimes(
            calls=len(ordered_ms),
            failed=self._failed[kind],
            p50_ms=percentile(ordered_ms, 0.5),
            p99_ms=percentile(ordered_ms, 0.99),
            longest_ms=ordered_ms[-1] if ordered_ms else 0.0,
        )


class Visitors(CallingThreads):
    """A thread for each page that asks for it again and again."""

    def __init__(
        self,
        *,
        address: Address,
        pages: Mapping[str, tuple[str, Mapping[str, str]]],
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        """`pages` are paths and headers by name."""
        self._names = list(pages)
        super().__init__(
            address=address,
            pause_seconds=pause_seconds,
            work={
                f"visitor-{name}": partial(self._visit, name, path, dict(headers))
                for name, (path, headers) in pages.items()
            },
        )

    def times(self) -> dict[str, CallTimes]:
        return {name: self.times_of(name) for name in self._names}

    def _visit(self, name: str, path: str, headers: dict[str, str]) -> None:
        while not self.ended:
            self.call(name, "GET", path, headers=headers)
