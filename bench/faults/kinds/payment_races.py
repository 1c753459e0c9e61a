"""Many buyers pay just when their deadline passes: each gets the units or the money back, never both."""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.db import connection
from django.db.models import QuerySet

from bench.faults.buyer_journey import Demand
from bench.faults.fault import EXTRA_BUYERS_FIRST, Fault
from bench.faults.history import Action
from bench.faults.payer import RETRY_SECONDS
from bench.faults.store_snapshot import reservations_in_database
from bench.faults.trial_sale import Stock, credentials_for
from bench.faults.wire.http_client import CHARGED, PAGE_CLOSED, Answer, BuyerClient
from orders.models import Order, OrderStatus, Payment
from orders.payments import sessions
from orders.payments.provider.interface import ProviderUnreachable
from orders.payments.sessions import StartResult
from orders.payments.simulated import company, delivery
from orders.payments.simulated.models import SimulatedSession

RACES = 1_000
# Two cores can handle the payments at this rate too, later, each at its moment.
RESERVATIONS_PER_SECOND = 20
# Every order must exist and every payment page be open before the first deadline, on a busy machine too.
HOLD_SECONDS = 120
# A payment takes some hundredths of a second to become an event, on a busy machine a second or two, and the sweep that
# expires holds runs each second: in this range around the deadline payments come before, during and after that sweep.
AROUND_DEADLINE_SECONDS = (-3.0, 1.2)
THREADS = 12
ORDERS_SECONDS_MAX = 30.0
PAGE_SECONDS_MAX = 20.0


@dataclass(frozen=True, slots=True)
class Race:
    """One buyer with an open payment page. `pay_wall_s` is when to pay, in seconds since 1970."""

    client: BuyerClient
    reference: str
    pay_wall_s: float


class PaymentAtDeadline(Fault, ABC):
    """Buyers order over HTTP, and the shop is notified over HTTP. The subclasses say what is ordered, and how.

    Payment pages are opened and paid by function calls in this process, which meet their moment more exactly.
    """

    duration_seconds = 1.0
    demand = Demand(buyers=0)
    races_wanted = 0
    hold_seconds = 0

    @abstractmethod
    def open_races(self) -> list[Race | None]:
        """Order what is raced for, and open the payment pages."""

    @abstractmethod
    def orders(self) -> QuerySet[Order]:
        """The orders of the trial."""

    @abstractmethod
    def order_of(self, client: BuyerClient) -> Order | None:
        """The order of this buyer."""

    def before_deadlines(self, races: Sequence[Race]) -> None:
        """All pages are open, and no deadline has passed. `races` are sorted by their moments."""

    def inject(self) -> None:
        races = [race for race in self.open_races() if race is not None]
        races.sort(key=lambda race: race.pay_wall_s)
        self.before_deadlines(races)
        paid = Counter(self.each(self._pay, races))
        in_time = self.orders().filter(status=OrderStatus.PAID, attention="").count()
        self.variant = f"{len(races)} races: {paid[CHARGED]} charged, {paid[PAGE_CLOSED]} refused by the page; "
        self.variant += f"{in_time} paid in time"
        self.happened = len(races) > self.races_wanted / 2 and in_time > 0

    def paced(self, clients: Iterable[BuyerClient]) -> Iterable[BuyerClient]:
        began_s = time.monotonic()
        for number, client in enumerate(clients):
            self.shop.wait(max(0.0, began_s + number / RESERVATIONS_PER_SECOND - time.monotonic()))
            yield client

    def each(self, work: Callable[[Any], Any], things: Iterable[Any]) -> list[Any]:
        """Do the work for each, in several threads, while the supervisor goes on."""

        def work_on(thing: Any) -> Any:
            try:
                return work(thing)
            finally:
                connection.close()

        with ThreadPoolExecutor(THREADS) as pool:
            futures = [pool.submit(work_on, thing) for thing in things]
            self.shop.wait_until(lambda: all(future.done() for future in futures), seconds_max=2 * self.hold_seconds)
            return [future.result() for future in futures]

    def open_page(self, client: BuyerClient) -> Race | None:
        """The buyer's payment page; None if there is no order to pay."""
        order = self.order_of(client)
        start = start_payment(order) if order else None
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


def start_payment(order: Order) -> StartResult:
    """As the button does it. On a busy machine a call may be refused, and is repeated."""
    give_up_s, key = time.monotonic() + PAGE_SECONDS_MAX, str(uuid4())
    while True:
        try:
            return sessions.start(order_id=order.pk, idempotency_key=key)
        except ProviderUnreachable:
            if time.monotonic() > give_up_s:
                raise
            time.sleep(RETRY_SECONDS)


class PaymentAtExpiry(PaymentAtDeadline):
    name = "payment-at-expiry"
    description = f"{RACES:,} buyers pay just when their hold expires"
    stock = Stock(quantity=RACES, per_buyer_max=1, hold_seconds=HOLD_SECONDS)
    races_wanted = RACES
    hold_seconds = HOLD_SECONDS

    def open_races(self) -> list[Race | None]:
        credentials = credentials_for(self.context.item, count=RACES, first=EXTRA_BUYERS_FIRST)
        clients = self.context.buyers(credentials, name="racer")
        self.each(self._reserve, self.paced(clients))
        ids = {client.credentials.reservation_id for client in clients}
        self.shop.wait_until(
            lambda: ids <= reservations_in_database(self.context.item.pk), seconds_max=ORDERS_SECONDS_MAX
        )
        return self.each(self.open_page, clients)

    def _reserve(self, client: BuyerClient) -> Answer:
        return client.reserve(item_id=self.context.item.pk, units=1)

    def orders(self) -> QuerySet[Order]:
        return Order.objects.filter(lines__sale_item=self.context.item)

    def order_of(self, client: BuyerClient) -> Order | None:
        return Order.objects.filter(reservation_id=client.credentials.reservation_id).first()
