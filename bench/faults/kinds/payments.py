"""Payment messages that come twice, late, early, out of order or forged, and processes that die while handling them.

The checker reads the records of the simulated payment company: money that it keeps must belong to a paid order.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from django.db import connection
from django.urls import reverse
from django.utils import timezone

from bench.faults.buyer_journey import Demand
from bench.faults.fault import INJECT_SECONDS_MAX, Fault, Part
from bench.faults.kinds.processes import DiesAtFailpoint
from bench.faults.trial_sale import Stock
from bench.faults.wire.http_client import request
from bench.http_requests import Reply
from orders.models import OrderLine, Payment
from orders.payments.simulated import company
from orders.payments.simulated.adapter import SIGNATURE_HEADER, signature_header
from orders.payments.simulated.models import SimulatedMessage, SimulatedSession
from seckill.models import LatePayment

REPLAYS = 20
REPLAYED_MAX = 10
FORGED_MAX = 5
HOUR_SECONDS = 3_600
# The hold ends after 6 s, the message comes after 8 (see ShopUnderTest.process).
LATE = Demand(buyers=50, arrival_seconds=5.0, deliveries=("late",), retry_seconds_max=8.0)


class WebhookTwice(Fault):
    name = "webhook-twice"
    description = "every message of the payment company comes again after two seconds"
    demand = Demand(deliveries=("twice",))
    disturbs = frozenset({Part.COMPANY})


class WebhookEarly(Fault):
    name = "webhook-early"
    description = "the message of a payment arrives before the buyer leaves the payment page"
    demand = Demand(deliveries=("early",))
    disturbs = frozenset({Part.COMPANY})


class WebhookOutOfOrder(Fault):
    name = "webhook-out-of-order"
    description = "the message of a declined card arrives after that of the payment"
    demand = Demand(deliveries=("out_of_order",))
    disturbs = frozenset({Part.COMPANY})


class WebhookLate(Fault):
    name = "webhook-late"
    description = "the message of a payment arrives after the hold expired; units are taken again if any are left"
    demand = LATE
    disturbs = frozenset({Part.COMPANY, Part.DEADLINES})


class WebhookLateRefund(Fault):
    name = "webhook-late-refund"
    description = "the message of a payment arrives after the hold expired; the sale's policy is to refund it"
    demand = LATE
    stock = Stock(late_payment=LatePayment.REFUND)
    disturbs = frozenset({Part.COMPANY, Part.DEADLINES})


class WebhookReplayed(Fault):
    """Genuine messages are sent again by many threads, some while the first one is still being applied."""

    name = "webhook-replayed"
    description = f"genuine messages are sent again, {REPLAYS} times at once, to both web processes"
    starts_after_seconds = (3.0, 4.0)
    disturbs = frozenset({Part.COMPANY})
    needs = frozenset({Part.WEB, Part.POSTGRES})

    def inject(self) -> None:
        bodies = [message.body.encode() for message in messages_of(self)[:REPLAYED_MAX]]
        ports = self.context.ports
        calls = list(product(bodies, range(REPLAYS)))
        with ThreadPoolExecutor(REPLAYS) as pool:
            replies = list(pool.map(lambda call: post(ports[call[1] % len(ports)], call[0]), calls))
        self._statuses = {reply.status for reply in replies}
        self.variant = f"{len(calls)} messages"
        self.happened = bool(calls)

    def violations(self) -> Sequence[str]:
        return [] if self._statuses <= {200} else [f"a genuine message was answered with {sorted(self._statuses)}"]


class WebhookForged(Fault):
    """For pending payments: if the shop believed a message, an order would be paid without money."""

    name = "webhook-forged"
    description = "payment messages with a signature of another body, another key, another time, or none"
    starts_after_seconds = (2.0, 3.0)
    disturbs = frozenset({Part.COMPANY})
    needs = frozenset({Part.WEB, Part.POSTGRES})

    def inject(self) -> None:
        connection.close()
        port = self.context.ports[0]
        # On a busy machine the first payment page is opened late.
        self.shop.wait_until(lambda: bool(self._pending_payments()), seconds_max=INJECT_SECONDS_MAX)
        replies: list[Reply] = []
        for payment in self._pending_payments():
            body = captured(payment)
            now_s = int(time.time())
            headers = [
                signature_header(body=body + b" ", signed_s=now_s),
                f"t={now_s},v1={'0' * 64}",
                signature_header(body=body, signed_s=now_s - HOUR_SECONDS),
                signature_header(body=body, signed_s=now_s + HOUR_SECONDS),
                "",
            ]
            replies += [post(port, body, header=header) for header in headers]
        self._statuses = [reply.status for reply in replies]
        self.variant = f"{len(replies)} messages"
        self.happened = bool(replies)

    def _pending_payments(self) -> list[Payment]:
        order_ids = OrderLine.objects.filter(sale_item=self.context.item).values("order_id")
        pending = Payment.objects.filter(order_id__in=order_ids, status=Payment.Status.PENDING)
        # Those that have their page.
        return list(pending.exclude(provider_reference="")[:FORGED_MAX])

    def violations(self) -> Sequence[str]:
        wrong = sorted({status for status in self._statuses if status != 400})
        return [f"forged messages were answered with {wrong}"] if wrong else []


class WebKilledBeforePaymentCommit(DiesAtFailpoint):
    name = "web-killed-before-payment-commit"
    description = "a web process dies when a payment is written and not committed"
    failpoint = "payments.before_commit"
    disturbs = frozenset({Part.WEB})


class WebKilledAfterPaymentCommit(DiesAtFailpoint):
    name = "web-killed-after-payment-commit"
    description = "a web process dies after the commit of a payment, before it tells the store and the company"
    failpoint = "payments.after_commit"
    disturbs = frozenset({Part.WEB})


class KilledAfterOrderEnds(DiesAtFailpoint):
    name = "killed-after-order-moved"
    description = "a process dies after an order changed in PostgreSQL, before it tells the store"
    failpoint = "lifecycle.after_commit"
    disturbs = frozenset({Part.WEB, Part.WORKER})


class KilledInLatePayment(DiesAtFailpoint):
    name = "killed-in-late-payment"
    description = "a process dies after the store took units again for a late payment, before PostgreSQL did"
    failpoint = "late_payment.after_restore"
    visits_max = 2
    demand = LATE


class KilledInRefund(DiesAtFailpoint):
    name = "killed-in-refund"
    description = "a worker dies after the payment company refunded, before it is in PostgreSQL"
    failpoint = "refund.after_provider"
    visits_max = 2
    demand = LATE
    stock = Stock(late_payment=LatePayment.REFUND)


def messages_of(fault: Fault) -> list[SimulatedMessage]:
    """The payment company's messages about the trial's orders, sent or not."""
    connection.close()
    order_ids = OrderLine.objects.filter(sale_item=fault.context.item).values("order_id")
    payment_ids = Payment.objects.filter(order_id__in=order_ids).values("pk")
    return list(SimulatedMessage.objects.filter(session__payment_id__in=payment_ids).order_by("-pk"))


def captured(payment: Payment) -> bytes:
    """The message that the company would send if the buyer had paid."""
    session, now = SimulatedSession.objects.get(reference=payment.provider_reference), timezone.now()
    return company.message_of(session=session, kind="captured", happened_at=now, deliver_at=now).body.encode()


def post(port: int, body: bytes, *, header: str | None = None) -> Reply:
    """Send one message to the shop, signed as by the company unless a header is given."""
    signed = signature_header(body=body, signed_s=int(time.time())) if header is None else header
    headers = {SIGNATURE_HEADER: signed} if signed else {}
    return request(port, "POST", reverse("api-payment-webhook", args=["simulated"]), headers=headers, data=body)
