"""The sign of life of a Celery worker: its event loop turns, or it waits for a broker that is away.

Celery loses its timers with each connection and waits for the next one without its event loop. A supervisor that
restarted the worker then would change nothing, and would soon wait for minutes between two restarts.
"""

import time
from threading import Thread
from typing import Any

from celery import bootsteps

from shop.background.heartbeat import INTERVAL_SECONDS, beat_once

# A loop that has not turned for so long hangs. Processes of the pool do the work; the loop only hands it out.
TURNED_WITHIN_SECONDS = 60.0


class HeartbeatStep(bootsteps.StartStopStep):
    """A part of the worker that starts when it has a connection, and stops when the connection is lost."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **more: Any) -> None:
        super().__init__(consumer, **more)
        self._is_connected = False
        self._turned_s = 0.0
        Thread(target=self._run, name="heartbeat", daemon=True).start()

    def start(self, consumer: Any) -> None:
        self._turn()
        consumer.timer.call_repeatedly(INTERVAL_SECONDS, self._turn)
        self._is_connected = True

    def stop(self, consumer: Any) -> None:
        self._is_connected = False

    def is_alive(self) -> bool:
        return not self._is_connected or time.monotonic() - self._turned_s < TURNED_WITHIN_SECONDS

    def _turn(self) -> None:
        self._turned_s = time.monotonic()

    def _run(self) -> None:
        while True:
            if self.is_alive():
                beat_once()
            time.sleep(INTERVAL_SECONDS)
