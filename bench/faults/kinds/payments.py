"""Payment events that come twice, late, early, out of order or forged; deaths around them; payments at the deadline.

The money is the simulated company's, whose own books the checker asks: what it has kept must belong to a paid order.
"""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from django.db import connection
from django.urls import reverse

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault
from bench.faults.http_client import Reply, request
from bench.faults.kinds.processes import DiesAtFailpoint
from bench.faults.shop_under_test import WEBS
from bench.faults.trial_sale import Stock
from orders.models import OrderLine, Payment
from orders.payments.simulated.adapter import SIGNATURE_HEADER, signature_header
from orders.payments.simulated.models import SimulatedMessage
from seckill.models import LatePayment

REPLAYS = 20
REPLAYED_MAX = 10
FORGED_MAX = 5
HOUR_SECONDS = 3_600
# The hold ends after 6 s, the message comes after 8 (see Site.process).
LATE = Demand(buyers=50, arrival_seconds=5.0, deliveries=("late",), patience_seconds=8.0)


class WebhookTwice(Fault):
    name = "webhook-twice"
    what = "every message of the payment company comes twice, the second two seconds later"
    demand = Demand(deliveries=("twice",))


class WebhookEarly(Fault):
    name = "webhook-early"
    what = "the message that money has come arrives before the buyer leaves the payment page"
    demand = Demand(deliveries=("early",))


class WebhookOutOfOrder(Fault):
    name = "webhook-out-of-order"
    what = "a message that the card was declined arrives after the one that money has come"
    demand = Demand(deliveries=("out_of_order",))


class WebhookLate(Fault):
    name = "webhook-late"
    what = "the message that money has come arrives when the hold has ended; units are taken again if any are left"
    demand = LATE


class WebhookLateRefund(Fault):
    name = "webhook-late-refund"
    what = "the same where the sale's policy is to give the money back"
    demand = LATE
    stock = Stock(late_payment=LatePayment.REFUND)


class WebhookReplayed(Fault):
    """Genuine messages, sent again by many at once, some while the first is still being applied."""

    name = "webhook-replayed"
    what = f"genuine messages are sent again {REPLAYS} times at once to both web processes"
    begins_seconds = (3.0, 4.0)

    def inject(self) -> None:
        bodies = [message.body.encode() for message in messages_of(self)[:REPLAYED_MAX]]
        ports = [self.site.proxy.port(f"buyers-{web}") for web in WEBS]
        calls = list(product(bodies, range(REPLAYS)))
        with ThreadPoolExecutor(REPLAYS) as pool:
            replies = list(pool.map(lambda call: post(ports[call[1] % len(ports)], call[0]), calls))
        self._statuses = {reply.status for reply in replies}
        self.variant = f"{len(calls)} messages"
        self._sent = len(calls)

    def broken(self) -> Sequence[str]:
        return [] if self._statuses <= {200} else [f"a genuine message was answered with {sorted(self._statuses)}"]

    def struck(self) -> bool:
        return self._sent > 0


class WebhookForged(Fault):
    """For payments that are pending, so that a message which is believed would pay an order for nothing."""

    name = "webhook-forged"
    what = "messages that money has come, with the signature of another body, of another key, of yesterday, or none"
    begins_seconds = (2.0, 3.0)

    def inject(self) -> None:
        connection.close()
        port = self.site.proxy.port("buyers-web1")
        order_ids = OrderLine.objects.filter(sale_item=self.stage.item).values("order_id")
        payments = list(Payment.objects.filter(order_id__in=order_ids, status=Payment.Status.PENDING)[:FORGED_MAX])
        replies: list[Reply] = []
        for payment in payments:
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

    def broken(self) -> Sequence[str]:
        wrong = sorted({status for status in self._statuses if status != 400})
        return [f"forged messages were answered with {wrong}"] if wrong else []

    def struck(self) -> bool:
        return bool(self._statuses)


class WebKilledBeforePaymentCommit(DiesAtFailpoint):
    name = "web-killed-before-payment-commit"
    what = "a web process dies when a payment is noted and not committed"
    failpoint = "payments.before_commit"


class WebKilledAfterPaymentCommit(DiesAtFailpoint):
    name = "web-killed-after-payment-commit"
    what = "a web process dies when a payment is committed, before the store and the company hear of it"
    failpoint = "payments.after_commit"


class KilledAfterOrderEnds(DiesAtFailpoint):
    name = "killed-after-order-moved"
    what = "a process dies when an order has moved in PostgreSQL, before the store hears of it"
    failpoint = "lifecycle.after_commit"


class KilledInLatePayment(DiesAtFailpoint):
    name = "killed-in-late-payment"
    what = "a process dies when the store has taken units again for late money, and PostgreSQL not"
    failpoint = "late_payment.after_restore"
    visits_max = 2
    demand = LATE


class KilledInRefund(DiesAtFailpoint):
    name = "killed-in-refund"
    what = "a worker dies when the payment company has given money back, and PostgreSQL does not know"
    failpoint = "refund.after_provider"
    visits_max = 2
    demand = LATE
    stock = Stock(late_payment=LatePayment.REFUND)


def messages_of(fault: Fault) -> list[SimulatedMessage]:
    """What the payment company has told the shop of the trial's orders, or is about to."""
    connection.close()
    order_ids = OrderLine.objects.filter(sale_item=fault.stage.item).values("order_id")
    payment_ids = Payment.objects.filter(order_id__in=order_ids).values("pk")
    return list(SimulatedMessage.objects.filter(session__payment_id__in=payment_ids).order_by("-pk"))


def captured(payment: Payment) -> bytes:
    """What the company would say if the buyer had paid."""
    said = {
        "id": f"evt_forged_{payment.pk}",
        "kind": "captured",
        "payment": str(payment.pk),
        "reference": payment.provider_reference,
        "reservation": None,
        "amount_minor": payment.amount_minor,
        "currency": payment.currency,
        "happened_at": "2026-01-01T00:00:00+00:00",
    }
    return json.dumps(said).encode()


def post(port: int, body: bytes, *, header: str | None = None) -> Reply:
    """One message to the shop, signed as the company signs it unless a header is given."""
    signed = signature_header(body=body, signed_s=int(time.time())) if header is None else header
    return request(
        port,
        "POST",
        reverse("api-payment-webhook", args=["simulated"]),
        headers={SIGNATURE_HEADER: signed} if signed else {},
        data=body,
        content_type="application/json",
    )
