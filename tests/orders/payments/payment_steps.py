"""Steps that the payment tests share: orders, payments, figures of both stores, signed webhooks."""

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connections
from django.db.models import F
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from orders.life import intake
from orders.models import Order, Payment
from orders.payments import sessions
from orders.payments.simulated.adapter import signature_header
from seckill import ledger
from seckill.models import SaleItem
from seckill.passes import passes
from shop.databases.database_clock import database_now

WEBHOOK = "/api/v1/payments/simulated/webhook/"


def order_of(item: SaleItem, buyer: User, units: int = 1) -> Order:
    """An order that awaits payment, made by a reservation and intake."""
    reservation_id = passes.new_reservation_id(item.pk)
    ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=units)
    intake.drain_once(item_id=item.pk)
    return Order.objects.get(reservation_id=reservation_id)


def payment_of(order: Order, key: str = "key") -> Payment:
    """A pending payment with an open page."""
    start = sessions.start(order_id=order.pk, idempotency_key=key)
    assert start.payment is not None
    return start.payment


def figures(item: SaleItem) -> tuple[int | None, int, int, int]:
    """left, held, sold in the store, taken in PostgreSQL."""
    counters = ledger.read(item_id=item.pk)
    assert counters is not None
    item.refresh_from_db()
    return counters.left, counters.held, counters.sold, item.taken


def let_deadlines_pass() -> None:
    Order.objects.update(expires_at=F("expires_at") - timedelta(days=1))


def store_away(settings: LazySettings) -> Any:
    """Point the shop at an address where no reservation store answers. Returns the setting to restore."""
    healthy = settings.CACHES
    caches = {name: dict(cache) for name, cache in healthy.items()}
    caches["seckill"]["LOCATION"] = "redis://127.0.0.1:1/0"
    settings.CACHES = caches
    return healthy


def message(payment: Payment, kind: str = "captured", **changes: Any) -> dict[str, Any]:
    """An event of the simulated provider about a payment."""
    return {
        "id": f"evt_{uuid4()}",
        "kind": kind,
        "payment": str(payment.pk),
        "reference": payment.provider_reference,
        "reservation": str(payment.order.reservation_id),
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


def signed_in(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def press_pay(client: APIClient, number: UUID, key: str | None = "key", **body: Any) -> Any:
    headers = {"Idempotency-Key": key} if key is not None else {}
    return client.post(f"/api/v1/orders/{number}/pay/", body, format="json", headers=headers)


def press_cancel(client: APIClient, number: UUID, key: str | None = "key") -> Any:
    headers = {"Idempotency-Key": key} if key is not None else {}
    return client.post(f"/api/v1/orders/{number}/cancel/", headers=headers)


def run_and_close(work: Callable[[], Any]) -> Callable[[], None]:
    """For a thread: close its connection to PostgreSQL when it ends."""

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    return run


def words(answers: Sequence[Any]) -> list[str]:
    return sorted(answer.json().get("code", str(answer.status_code)) for answer in answers)
