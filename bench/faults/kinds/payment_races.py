"""A thousand buyers pay at the instant at which their hold expires: each is paid or gets it back, never both."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.db import connection

from bench.faults.buyer_journey import Demand
from bench.faults.fault import OWN_BUYERS_FIRST, Fault
from bench.faults.history import Kind
from bench.faults.http_client import CHARGED, PAGE_OVER, Answer, Caller
from bench.faults.shop_under_test import WEBS
from bench.faults.store_snapshot import reservations_in_database
from bench.faults.trial_sale import Stock, tickets_for
from orders.models import Order, Payment
from orders.payments import sessions
from orders.payments.simulated import company, delivery
from orders.payments.simulated.models import SimulatedSession

RACES = 1_000
# A rate at which two cores also press the buttons, later on, each at its moment.
RESERVATIONS_PER_SECOND = 20
# Before the first deadline every order has to appear and every page to be opened, on a busy machine too.
HOLD_SECONDS = 120
# A press takes some hundredths of a second to become an event, and the sweep that expires comes each second: presses in
# this span around the deadline meet it before, in and after its turn.
AROUND_DEADLINE_SECONDS = (-0.3, 1.2)
LANES = 12
ORDERS_SECONDS_MAX = 30.0


@dataclass(frozen=True, slots=True)
class Race:
    """One buyer with an open payment page. `press_wall_s` is when to press its button, in seconds since 1970."""

    caller: Caller
    reference: str
    press_wall_s: float


class PaymentAtExpiry(Fault):
    """The harness reserves over HTTP, opens the pages and presses the buttons; the shop is told over HTTP."""

    name = "payment-at-expiry"
    what = f"{RACES:,} buyers pay at the instant at which their hold expires"
    lasts_seconds = 1.0
    stock = Stock(quantity=RACES, per_buyer_max=1, hold_seconds=HOLD_SECONDS)
    demand = Demand(buyers=0)

    def inject(self) -> None:
        ports = [self.site.proxy.port(f"buyers-{web}") for web in WEBS]
        tickets = tickets_for(self.stage.item, count=RACES, first=OWN_BUYERS_FIRST)
        callers = [
            Caller(
                trial=self.stage.trial,
                client=f"racer-{number}",
                ticket=ticket,
                ports=ports if number % 2 else ports[::-1],
                history=self.stage.history,
            )
            for number, ticket in enumerate(tickets)
        ]
        self._each(self._reserve, self._paced(callers))
        ids = {caller.ticket.reservation_id for caller in callers}
        self.site.wait_until(
            lambda: ids <= reservations_in_database(self.stage.item.pk), seconds_max=ORDERS_SECONDS_MAX
        )
        races = [race for race in self._each(self._open_page, callers) if race is not None]
        races.sort(key=lambda race: race.press_wall_s)
        pressed = Counter(self._each(self._press, races))
        in_time = Order.objects.filter(lines__sale_item=self.stage.item, status="paid", attention="").count()
        self.variant = f"{len(races)} races: {pressed[CHARGED]} charged, {pressed[PAGE_OVER]} refused by the page; "
        self.variant += f"{in_time} paid in time"
        self._races = len(races)

    def struck(self) -> bool:
        return self._races > RACES / 2

    def _paced(self, callers: Iterable[Caller]) -> Iterable[Caller]:
        began_s = time.monotonic()
        for number, caller in enumerate(callers):
            self.site.wait(max(0.0, began_s + number / RESERVATIONS_PER_SECOND - time.monotonic()))
            yield caller

    def _each(self, work: Callable[[Any], Any], things: Iterable[Any]) -> list[Any]:
        """Do the work for each, in some lanes, while the supervisor goes on."""

        def worked(thing: Any) -> Any:
            try:
                return work(thing)
            finally:
                connection.close()

        with ThreadPoolExecutor(LANES) as pool:
            futures = [pool.submit(worked, thing) for thing in things]
            self.site.wait_until(lambda: all(future.done() for future in futures), seconds_max=2 * HOLD_SECONDS)
            return [future.result() for future in futures]

    def _reserve(self, caller: Caller) -> Answer:
        return caller.reserve(item_id=self.stage.item.pk, units=1)

    def _open_page(self, caller: Caller) -> Race | None:
        """The buyer's payment page; None where there is no order to pay."""
        order = Order.objects.filter(reservation_id=caller.ticket.reservation_id).first()
        start = sessions.start(order_id=order.pk, idempotency_key=str(uuid4())) if order else None
        if order is None or start is None or start.payment is None:
            return None
        reference = Payment.objects.values_list("provider_reference", flat=True).get(pk=start.payment.pk)
        jitter = self.dice.uniform(*AROUND_DEADLINE_SECONDS)
        return Race(caller=caller, reference=reference, press_wall_s=order.expires_at.timestamp() + jitter)

    def _press(self, race: Race) -> str:
        """Pay at the company when the moment has come, and have the shop told at once."""
        time.sleep(max(0.0, race.press_wall_s - time.time()))
        call = race.caller.noted(Kind.PAY)
        charged = company.pay(reference=race.reference)
        word = CHARGED if charged else PAGE_OVER
        race.caller.note_answer(call, Kind.PAY, Answer(word=word, status=302))
        if charged:
            delivery.deliver_now(session=SimulatedSession.objects.get(reference=race.reference))
        return word
