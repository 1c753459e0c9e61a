"""Rings Celery after a reservation, without ever making a buyer wait or fail.

The message carries no data, so a lost ring costs at most the second until the sweep. `ring` only notes the item; a
thread of the process sends, with short timeouts. A broker that is down, hung or full hurts that thread alone.
"""

import threading
import time

import structlog
from celery import current_app

log = structlog.get_logger(__name__)

TASK = "orders.tasks.drain_outbox"
# At most one ring per item, process and 50 ms: a drain takes hundreds of entries, so more rings carry no news.
INTERVAL_SECONDS = 0.05
# A ring that was not heard by then is worthless: the sweep has come by many times. Not shorter, since the time is
# compared with the worker's clock, and clocks that are an hour off must not silence the bell.
EXPIRES_SECONDS = 7200
# After a failure the broker is left alone for this long; the sweep goes on meanwhile.
REST_SECONDS = 2.0


class Doorbell:
    """Collects the items to ring for. One thread, started at the first ring, so that it lives in the forked process."""

    def __init__(self) -> None:
        self._items: set[int] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def ring(self, item_id: int) -> None:
        """Ask for the outbox of `item_id` to be drained soon. Returns at once and never raises."""
        with self._lock:
            self._items.add(item_id)
            if self._thread is None or not self._thread.is_alive():
                self._start()
        self._wake.set()

    def _start(self) -> None:
        thread = threading.Thread(target=self._serve, name="doorbell", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # The process may have no more threads, or is on its way out. The next ring tries again.
            log.warning("doorbell_has_no_thread", error=repr(error))
        else:
            self._thread = thread

    def _serve(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                items, self._items = self._items, set()
            try:
                for item_id in items:
                    send(item_id)
            except Exception as error:
                # Any fault of the broker or its client: the sweep will find the entries.
                log.warning("doorbell_not_heard", error=repr(error))
                time.sleep(REST_SECONDS)
            time.sleep(INTERVAL_SECONDS)


def send(item_id: int) -> None:
    """Queue one drain of the item's outbox. Raises what the broker's client raises."""
    current_app.send_task(
        TASK,
        kwargs={"item_id": item_id},
        queue="drain",
        expires=EXPIRES_SECONDS,
        retry=False,
        ignore_result=True,
    )


_doorbell = Doorbell()
ring = _doorbell.ring
