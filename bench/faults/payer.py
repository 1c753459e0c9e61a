"""How a buyer pays and cancels: by the API, and by the button on the payment company's page."""

import threading
import time
from collections.abc import Callable

from bench.faults.wire.http_client import CHARGED, PAGE_CLOSED, Answer, BuyerClient

# Between two attempts of the same call.
RETRY_SECONDS = 0.25


class Retry:
    """Repeats a call until it is done, at most for `seconds`."""

    def __init__(self, *, seconds: float, stop: threading.Event) -> None:
        self._give_up_s = time.monotonic() + seconds
        self._stop = stop

    def until(self, done: Callable[[Answer], bool], call: Callable[[int], Answer]) -> Answer | None:
        """Call, each time another web process, until it is done; None if time is up or the trial is stopped."""
        attempt = 0
        while True:
            answer = call(attempt)
            if done(answer):
                return answer
            if time.monotonic() > self._give_up_s or self._stop.wait(RETRY_SECONDS):
                return None
            attempt += 1


def pay(client: BuyerClient, *, retry: Retry, delivery: str) -> None:
    """Wait for the reservation's order, and pay it."""
    number = order_number(client, retry)
    if number is not None:
        pay_order(client, number=number, retry=retry, delivery=delivery)


def pay_order(client: BuyerClient, *, number: str, retry: Retry, delivery: str) -> None:
    """Open the page of this order and press the button, repeatedly until the outcome is known."""
    page = retry.until(known, lambda attempt: client.open_page(number=number, attempt=attempt))
    if page is None or not page.body.get("url"):
        return
    url = str(page.body["url"])
    retry.until(
        lambda answer: answer.outcome in (CHARGED, PAGE_CLOSED),
        lambda attempt: client.press_pay(url=url, delivery=delivery, attempt=attempt),
    )


def cancel(client: BuyerClient, *, retry: Retry) -> None:
    number = order_number(client, retry)
    if number is not None:
        retry.until(known, lambda attempt: client.cancel(number=number, attempt=attempt))


def order_number(client: BuyerClient, retry: Retry) -> str | None:
    """The number of the reservation's order, as soon as it has one. A lost one is brought back, as by the page."""

    def ask(attempt: int) -> Answer:
        answer = client.get_reservation(attempt=attempt)
        return client.bring_receipt(attempt=attempt) if answer.status == 404 and client.receipts else answer

    found = retry.until(lambda answer: bool(answer.body.get("order")), ask)
    return str(found.body["order"]) if found else None


def known(answer: Answer) -> bool:
    return not answer.is_unknown
