"""How many calls the gate has answered, by its word, in all processes: a counter for Prometheus.

A process only adds up; a thread of it writes to the cache server once a second, as seckill/store/failures.py does.
"""

import threading
import time
from collections import Counter

import structlog
from django.core.cache import cache

from web.reservations.headers import WORDS

log = structlog.get_logger(__name__)

INTERVAL_SECONDS = 1.0


class AnswerCounts:
    """Counted in one thread, written in another, which starts with the first answer."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._thread: threading.Thread | None = None

    def add(self, word: str) -> None:
        """Count an answer. Returns at once."""
        self._counts[word] += 1
        if self._thread is None:
            self._start_thread()

    def _start_thread(self) -> None:
        self._thread = threading.Thread(target=self._write_forever, name="gate-counts", daemon=True)
        self._thread.start()

    def _write_forever(self) -> None:
        while True:
            time.sleep(INTERVAL_SECONDS)
            self.write()

    def write(self) -> None:
        """Add what was counted since the last time to the counters of all processes."""
        # An answer that is counted at this very moment may be missing.
        counts, self._counts = self._counts, Counter()
        try:
            for word, count in counts.items():
                cache.add(key_of(word), 0, timeout=None)
                cache.incr(key_of(word), count)
        except Exception as error:
            # The cache server is away, or was emptied in between.
            log.warning("gate_answers_not_counted", error=repr(error))


def key_of(word: str) -> str:
    return f"seckill.gate.answers.{word}"


def answer_counts() -> dict[str, int]:
    """How often each word was given, in all processes, since the cache server was last emptied."""
    found = cache.get_many([key_of(word) for word in WORDS])
    return {str(word): int(found.get(key_of(word), 0)) for word in WORDS}
