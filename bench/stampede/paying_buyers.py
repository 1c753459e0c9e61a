"""Buyers who pay for earlier orders while the stampede runs: does the shop stay usable for them?

Each opens the order, starts its payment, and their payment company (the simulated one) reports the money, at a rate
that an idle shop does not notice. The time of each call is measured.
"""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from bench import load_buyers
from bench.load_sale import open_load_sale
from bench.stampede.arrivals import Arrivals
from bench.stampede.setup import OWN_SALE_SECONDS, Address, CannotStart
from bench.stampede.timed_calls import CallingThreads, CallTimes
from orders.models import OrderLine
from orders.payments.simulated.adapter import SIGNATURE_HEADER, signature_header
from seckill import ledger
from seckill.outcomes import Outcome
from seckill.passes import passes
from shop.models import ApiToken
from shop.times.zone import time_with_offset

# Each pauses after a call: some 40 calls a second in all.
THREADS = 4
# How long the orders that are to be paid may take to arrive.
ORDERS_SECONDS_MAX = 60.0

ORDER, START, WEBHOOK = "order", "start a payment", "webhook"


@dataclass(frozen=True, slots=True)
class UnpaidOrder:
    """An order, and the token with which its buyer calls the API."""

    number: str
    reservation_id: str
    amount_minor: int
    token: str


class PayingBuyers(CallingThreads):
    """Threads that pay for the orders, one after the other."""

    def __init__(self, *, address: Address, orders: Sequence[UnpaidOrder]) -> None:
        super().__init__(address=address, work={f"payer-{number + 1}": self._pay for number in range(THREADS)})
        self._orders: Iterator[UnpaidOrder] = iter(orders)
        self._lock = threading.Lock()

    def times(self) -> dict[str, CallTimes]:
        """The measurements, by kind of call."""
        return {kind: self.times_of(kind) for kind in (ORDER, START, WEBHOOK)}

    def _pay(self) -> None:
        while not self.ended:
            with self._lock:
                order = next(self._orders, None)
            if order is None:
                return
            bearer = {"Authorization": f"Bearer {order.token}"}
            self.call(ORDER, "GET", reverse("api-order", args=[order.number]), headers=bearer)
            started = self.call(
                START,
                "POST",
                reverse("api-order-pay", args=[order.number]),
                data=b'{"provider": "simulated"}',
                headers={**bearer, "Idempotency-Key": str(uuid4())},
            )
            if "payment" in started:
                self._report_money(order, payment_id=started["payment"], url=started["url"])

    def _report_money(self, order: UnpaidOrder, *, payment_id: str, url: str) -> None:
        body = captured(
            payment_id=payment_id, url=url, reservation_id=order.reservation_id, amount_minor=order.amount_minor
        ).encode()
        signature = signature_header(body=body, signed_s=int(time.time()))
        path = reverse("api-payment-webhook", args=["simulated"])
        self.call(WEBHOOK, "POST", path, data=body, headers={SIGNATURE_HEADER: signature})


def captured(*, payment_id: str, url: str, reservation_id: str, amount_minor: int) -> str:
    """The message of the simulated payment company that the buyer has paid. `url` is that of the payment's page."""
    message = {
        "id": f"evt_{uuid4()}",
        "kind": "captured",
        "payment": payment_id,
        "reference": url.rstrip("/").rpartition("/")[2],
        "reservation": reservation_id,
        "amount_minor": amount_minor,
        "currency": settings.CURRENCY,
        "happened_at": timezone.now().isoformat(),
    }
    return json.dumps(message)


def unpaid_orders(*, count: int) -> list[UnpaidOrder]:
    """Orders of `count` load-test buyers in a new sale. The running shop writes them. Raises CannotStart."""
    item = open_load_sale(
        name=f"Load test {time_with_offset(timezone.now())}, to be paid",
        quantity=count,
        per_buyer_max=1,
        open_seconds=OWN_SALE_SECONDS,
        hold_seconds=OWN_SALE_SECONDS,
    )
    arrivals = Arrivals([item.pk])
    buyer_ids = load_buyers.load_buyer_ids(count=count)
    reservation_ids = [passes.new_reservation_id(item.pk) for _ in buyer_ids]
    for buyer_id, reservation_id in zip(buyer_ids, reservation_ids, strict=True):
        answer = ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer_id, units=1)
        if answer.outcome is not Outcome.RESERVED:
            raise CannotStart(f"An order to be paid could not be reserved: {answer.outcome}.")
    waited_for = [str(reservation_id) for reservation_id in reservation_ids]
    arrivals.wait_for(waited_for, seconds_max=ORDERS_SECONDS_MAX, tick=lambda _count: None)
    lines = OrderLine.objects.filter(sale_item=item).select_related("order__buyer")
    if len(lines) < count:
        raise CannotStart("The shop writes no orders: does its worker run?")
    return [
        UnpaidOrder(
            number=str(line.order.number),
            reservation_id=str(line.order.reservation_id),
            amount_minor=line.order.amount_minor,
            token=ApiToken.objects.create(user=User.objects.get(pk=line.order.reserved_by))[1],
        )
        for line in lines
    ]
