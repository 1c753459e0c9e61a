"""How a buyer of the harness pays and cancels: as staff records it, by `orders/lifecycle.py` in our own process."""

import threading
import time
from collections.abc import Callable

from django.db import DatabaseError, connection

from orders import lifecycle
from orders.faults.caller import Answer, Caller
from orders.faults.history import UNKNOWN, Kind
from orders.models import Order

REST_SECONDS = 0.25
# The order of a reservation is not there yet.
NO_ORDER = "no_order"


def pay(caller: Caller, *, patience_seconds: float, over: threading.Event) -> None:
    """Pay, again and again while the answer is unknown or the order is on its way."""
    repeat(caller, Kind.PAY, lambda pk: lifecycle.pay(order_id=pk), patience_seconds=patience_seconds, over=over)


def cancel(caller: Caller, *, patience_seconds: float, over: threading.Event) -> None:
    repeat(caller, Kind.CANCEL, lambda pk: lifecycle.cancel(order_id=pk), patience_seconds=patience_seconds, over=over)


def repeat(
    caller: Caller, kind: Kind, move: Callable[[int], bool], *, patience_seconds: float, over: threading.Event
) -> None:
    give_up_s = time.monotonic() + patience_seconds
    while True:
        call = caller.noted(kind)
        answer = attempt(caller.ticket.reservation_id, move)
        caller.note_answer(call, kind, answer)
        if answer.word not in (UNKNOWN, NO_ORDER) or time.monotonic() > give_up_s or over.wait(REST_SECONDS):
            return


def attempt(reservation_id: str, move: Callable[[int], bool]) -> Answer:
    """`ok` where the order moved, `refused` where it did not, UNKNOWN where the database did not say."""
    try:
        pk = Order.objects.filter(reservation_id=reservation_id).values_list("pk", flat=True).first()
        if pk is None:
            return Answer(word=NO_ORDER, status=404)
        return Answer(word="ok", status=200) if move(pk) else Answer(word="refused", status=409)
    except DatabaseError:
        return Answer(word=UNKNOWN)
    finally:
        # A thread of ours may not come by again, and a connection that broke must not be met again.
        connection.close()
