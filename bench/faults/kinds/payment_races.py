"""A thousand buyers pay just when their hold expires: each gets the units or the money back, never both."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.db import connection

from bench.faults.buyer_journey import Demand
from bench.faults.fault import EXTRA_BUYERS_FIRST, Fault
from bench.faults.history import Action
from bench.faults.http_client import CHARGED, PAGE_CLOSED, Answer, BuyerClient
from bench.faults.shop_under_test import WEBS
from bench.faults.store_snapshot import reservations_in_database
from bench.faults.trial_sale import Stock, credentials_for
from orders.models import Order, Payment
from orders.payments import sessions
from orders.payments.simulated import company, delivery
from orders.payments.simulated.models import SimulatedSession

RACES = 1_000
# Two cores can handle the payments at this rate too, later, each at its moment.
RESERVATIONS_PER_SECOND = 20
# Every order must exist and every payment page be open before the first deadline, on a busy machine too.
HOLD_SECONDS = 120
# A payment takes some hundredths of a second to become an event, and the sweep that expires holds runs each second: in
# this range around the deadline payments come before, during and after that sweep.
AROUND_DEADLINE_SECONDS = (-0.3, 1.2)
THREADS = 12
ORDERS_SECONDS_MAX = 30.0


@dataclass(frozen=True, slots=True)
class Race:
    """One buyer with an open payment page. `pay_wall_s` is when to pay, in seconds since 1970."""

    client: BuyerClient
    reference: str
    pay_wall_s: float


class PaymentAtExpiry(Fault):
    """Buyers reserve over HTTP, and the shop is notified over HTTP.

    Payment pages are opened and paid by function calls in this process, which meet their moment more exactly.
    """

    name = "payment-at-expiry"
    description = f"{RACES:,} buyers pay just when their hold expires"
    duration_seconds = 1.0
    stock = Stock(quantity=RACES, per_buyer_max=1, hold_seconds=HOLD_SECONDS)
    demand = Demand(buyers=0)

    def inject(self) -> None:
        ports = [self.shop.proxy.port(f"buyers-{web}") for web in WEBS]
        credentials = credentials_for(self.context.item, count=RACES, first=EXTRA_BUYERS_FIRST)
        clients = [
            BuyerClient(
                trial=self.context.trial,
                name=f"racer-{number}",
                credentials=of_buyer,
                ports=ports if number % 2 else ports[::-1],
                history=self.context.history,
            )
            for number, of_buyer in enumerate(credentials)
        ]
        self._each(self._reserve, self._paced(clients))
        ids = {client.credentials.reservation_id for client in clients}
        self.shop.wait_until(
            lambda: ids <= reservations_in_database(self.context.item.pk), seconds_max=ORDERS_SECONDS_MAX
        )
        races = [race for race in self._each(self._open_page, clients) if race is not None]
        races.sort(key=lambda race: race.pay_wall_s)
        paid = Counter(self._each(self._pay, races))
        in_time = Order.objects.filter(lines__sale_item=self.context.item, status="paid", attention="").count()
        self.variant = f"{len(races)} races: {paid[CHARGED]} charged, {paid[PAGE_CLOSED]} refused by the page; "
        self.variant += f"{in_time} paid in time"
        self._races = len(races)

    def took_effect(self) -> bool:
        return self._races > RACES / 2

    def _paced(self, clients: Iterable[BuyerClient]) -> Iterable[BuyerClient]:
        began_s = time.monotonic()
        for number, client in enumerate(clients):
            self.shop.wait(max(0.0, began_s + number / RESERVATIONS_PER_SECOND - time.monotonic()))
            yield client

    def _each(self, work: Callable[[Any], Any], things: Iterable[Any]) -> list[Any]:
        """Do the work for each, in several threads, while the supervisor goes on."""

        def work_on(thing: Any) -> Any:
            try:
                return work(thing)
            finally:
                connection.close()

        with ThreadPoolExecutor(THREADS) as pool:
            futures = [pool.submit(work_on, thing) for thing in things]
            self.shop.wait_until(lambda: all(future.done() for future in futures), seconds_max=2 * HOLD_SECONDS)
            return [future.result() for future in futures]

    def _reserve(self, client: BuyerClient) -> Answer:
        return client.reserve(item_id=self.context.item.pk, units=1)

    def _open_page(self, client: BuyerClient) -> Race | None:
        """The buyer's payment page; None if there is no order to pay."""
        order = Order.objects.filter(reservation_id=client.credentials.reservation_id).first()
        start = sessions.start(order_id=order.pk, idempotency_key=str(uuid4())) if order else None
        if order is None or start is None or start.payment is None:
            return None
        reference = Payment.objects.values_list("provider_reference", flat=True).get(pk=start.payment.pk)
        jitter = self.rng.uniform(*AROUND_DEADLINE_SECONDS)
        return Race(client=client, reference=reference, pay_wall_s=order.expires_at.timestamp() + jitter)

    def _pay(self, race: Race) -> str:
        """Pay at the company when the moment has come, and let it notify the shop at once."""
        time.sleep(max(0.0, race.pay_wall_s - time.time()))
        call = race.client.record_request(Action.PAY)
        charged = company.pay(reference=race.reference)
        outcome = CHARGED if charged else PAGE_CLOSED
        race.client.record_answer(call, Action.PAY, Answer(outcome=outcome, status=302))
        if charged:
            delivery.deliver_now(session=SimulatedSession.objects.get(reference=race.reference))
        return outcome
