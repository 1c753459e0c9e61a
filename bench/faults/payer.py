"""How a buyer of the harness pays and cancels: by the API, and by the button on the payment company's page."""

import threading
import time
from collections.abc import Callable

from bench.faults.http_client import CHARGED, PAGE_OVER, Answer, Caller

REST_SECONDS = 0.25


class Patience:
    """How long, and how, a buyer repeats what nobody answered."""

    def __init__(self, *, seconds: float, over: threading.Event) -> None:
        self._give_up_s = time.monotonic() + seconds
        self._over = over

    def until(self, done: Callable[[Answer], bool], call: Callable[[int], Answer]) -> Answer | None:
        """Call, each time another web process, until it is done; None where patience, or the trial, is over."""
        turn = 0
        while True:
            answer = call(turn)
            if done(answer):
                return answer
            if time.monotonic() > self._give_up_s or self._over.wait(REST_SECONDS):
                return None
            turn += 1


def pay(
    caller: Caller,
    *,
    patience_seconds: float,
    over: threading.Event,
    delivery: str,
) -> None:
    """Open the page and press the button, again and again until it is known to have done something."""
    patience = Patience(seconds=patience_seconds, over=over)
    number = order_number(caller, patience)
    if number is None:
        return
    page = patience.until(known, lambda turn: caller.open_page(number=number, turn=turn))
    if page is None or not page.body.get("url"):
        return
    url = str(page.body["url"])
    patience.until(
        lambda answer: answer.word in (CHARGED, PAGE_OVER),
        lambda turn: caller.press_pay(url=url, delivery=delivery, turn=turn),
    )


def cancel(caller: Caller, *, patience_seconds: float, over: threading.Event) -> None:
    patience = Patience(seconds=patience_seconds, over=over)
    number = order_number(caller, patience)
    if number is not None:
        patience.until(known, lambda turn: caller.cancel(number=number, turn=turn))


def order_number(caller: Caller, patience: Patience) -> str | None:
    """The number of the reservation's order, as soon as it has one."""
    found = patience.until(lambda answer: bool(answer.body.get("order")), lambda turn: caller.look(turn=turn))
    return str(found.body["order"]) if found else None


def known(answer: Answer) -> bool:
    return not answer.is_unknown
