"""How money comes and goes: payments, signed webhooks, refunds that are due."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db.models import F, Model
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from orders import tasks
from orders.life import lifecycle
from orders.models import Order, Payment, PaymentEvent, Refund
from orders.payments import inbox, sessions
from orders.payments.simulated.adapter import signature_header
from orders.refund_records import RefundRequest
from shop.databases.database_clock import database_now

WEBHOOK = "/api/v1/payments/simulated/webhook/"


def payment_of(order: Order, key: str = "key") -> Payment:
    """A pending payment with an open page."""
    start = sessions.start(order_id=order.pk, idempotency_key=key)
    assert start.payment is not None
    return start.payment


def message(payment: Payment, kind: str = "captured", **changes: Any) -> dict[str, Any]:
    """An event of the simulated provider about a payment."""
    reservation_id = payment.order.reservation_id
    return {
        "id": f"evt_{uuid4()}",
        "kind": kind,
        "payment": str(payment.pk),
        "reference": payment.provider_reference,
        "reservation": str(reservation_id) if reservation_id else None,
        "amount_minor": payment.amount_minor,
        "currency": payment.currency,
        "happened_at": timezone.now().isoformat(),
        **changes,
    }


def send_webhook(event: dict[str, Any], *, signed_ago_seconds: int = 0, signature: str | None = None) -> Any:
    """Send a webhook as the simulated provider does: without session or CSRF token."""
    body = json.dumps(event).encode()
    signed_s = int(database_now().timestamp()) - signed_ago_seconds
    header = signature or signature_header(body=body, signed_s=signed_s)
    client = Client(enforce_csrf_checks=True)
    return client.post(WEBHOOK, body, content_type="application/json", headers={"Simulated-Signature": header})


def press_pay(client: APIClient, number: UUID, key: str | None = "key", **body: Any) -> Any:
    headers = {"Idempotency-Key": key} if key is not None else {}
    return client.post(f"/api/v1/orders/{number}/pay/", body, format="json", headers=headers)


def press_cancel(client: APIClient, number: UUID, key: str | None = "key") -> Any:
    headers = {"Idempotency-Key": key} if key is not None else {}
    return client.post(f"/api/v1/orders/{number}/cancel/", headers=headers)


def payment_row(order: Order, status: Payment.Status = Payment.Status.PENDING, **changes: Any) -> Payment:
    """A payment of the order, written directly."""
    values = {"provider": "simulated", "idempotency_key": "key", "currency": order.currency, **changes}
    return Payment.objects.create(order=order, status=status, **{"amount_minor": order.amount_minor, **values})


def make_events(orders: list[Order]) -> None:
    for order in orders:
        payment = payment_row(order)
        PaymentEvent.objects.create(
            provider="simulated",
            event_id=f"evt_{order.pk}",
            kind="captured",
            payment_id=payment.pk,
            amount_minor=1900,
            currency="CNY",
            happened_at=timezone.now(),
        )


def event_of_another_shop(kind: str = "captured", *, hours_ago: int = 0, **changes: Any) -> PaymentEvent:
    """An event of a payment that this shop does not know: another shop has the same account at the company."""
    now = timezone.now()
    values = {"provider": "simulated", "payment_id": uuid4(), "amount_minor": 1900, "currency": "CNY", **changes}
    event = PaymentEvent.objects.create(event_id=f"evt_{uuid4()}", kind=kind, happened_at=now, **values)
    PaymentEvent.objects.filter(pk=event.pk).update(received_at=now - timedelta(hours=hours_ago))
    return event


def let_events_wait() -> None:
    """Nothing applies them, until their payments count as lost."""
    assert tasks.apply_waiting_events() == 0
    PaymentEvent.objects.update(received_at=F("received_at") - inbox.LOST_AFTER)


def refund_part(order: Order, amount_minor: int, **changes: Any) -> Refund:
    """The refund of a part of an order, which staff have started."""
    values = {"refund_id": uuid4(), "units_of_line": {}, "units_back": False, **changes}
    request = RefundRequest(amount_minor=amount_minor, **values)
    assert lifecycle.refund_amount(order_id=order.pk, request=request) is lifecycle.RefundOutcome.STARTED
    return Refund.objects.get(pk=request.refund_id)


def make_due(model: type[Model]) -> None:
    """Let the time until the next attempt pass."""
    model._default_manager.exclude(next_attempt_at=None).update(next_attempt_at="2000-01-01T00:00Z")
