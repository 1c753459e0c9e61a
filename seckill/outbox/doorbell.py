"""Asks Celery to drain an item's outbox soon after a reservation, without making a buyer wait or fail.

The request carries no data: if it is lost, the sweep drains the outbox within a second. `request_drain` only notes the
item; a thread of the process sends the message, with short timeouts. A broker that is down, hanging or full affects
that thread alone.
"""

import threading
import time

import structlog
from celery import current_app

from seckill.outbox import lease
from shop.background.lazy_thread import LazyThread
from shop.celery import messages_waiting

log = structlog.get_logger(__name__)

TASK = "orders.tasks.drain_outbox"
QUEUE = "drain"
# At most one message per item, process and 50 ms, and none while a process drains the item.
INTERVAL_SECONDS = 0.05
# While more messages than this wait in the queue of drains, none is added: workers are away or behind, and the sweep
# drains every item as soon as one of them has a turn. Sweeps have more room (sweep_scheduler.py), so they get in.
WAITING_MAX = 100
# An older message is useless: the sweep has run many times since. Not shorter, since the worker compares the expiry
# with its own clock: with clocks an hour apart, messages must still arrive.
EXPIRES_SECONDS = 7200
# How long nothing is sent after the broker failed. The sweep goes on meanwhile.
PAUSE_AFTER_FAILURE_SECONDS = 2.0


class Doorbell:
    """Collects the items to drain."""

    def __init__(self) -> None:
        self._items: set[int] = set()
        self._lock = threading.Lock()
        self._sender = LazyThread(self._send_requests, name="doorbell")

    def request_drain(self, item_id: int) -> None:
        """Ask for the outbox of `item_id` to be drained soon. Returns at once and never raises."""
        # An item that is there is sent later than now, after the reservation of this call too.
        if item_id not in self._items:
            with self._lock:
                self._items.add(item_id)
        self._sender.wake()

    def _send_requests(self) -> None:
        with self._lock:
            items, self._items = self._items, set()
        try:
            for item_id in items:
                send(item_id)
        except Exception as error:
            # Any fault of the broker or its client: the sweep will find the entries.
            log.warning("drain_request_not_sent", error=repr(error))
            time.sleep(PAUSE_AFTER_FAILURE_SECONDS)
        time.sleep(INTERVAL_SECONDS)


def send(item_id: int) -> None:
    """Queue one drain of the item's outbox, unless a process is draining it or the queue is long.

    Raises what the clients of the broker and of the cache raise.
    """
    # Under load the message costs the worker more than the drain. The process with the lease reads the outbox again at
    # the end, and finds all reservations made until now.
    if lease.is_taken(item_id):
        return
    if messages_waiting(current_app, QUEUE) >= WAITING_MAX:
        return
    current_app.send_task(
        TASK,
        kwargs={"item_id": item_id},
        queue=QUEUE,
        expires=EXPIRES_SECONDS,
        retry=False,
        ignore_result=True,
    )


_doorbell = Doorbell()
request_drain = _doorbell.request_drain
