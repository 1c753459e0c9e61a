"""The provider `stripe`: Checkout Sessions, through Stripe's own library. Needs the extra `stripe`.

The events to subscribe to: checkout.session.completed, .async_payment_succeeded, .async_payment_failed, .expired,
charge.refunded, refund.updated, refund.failed.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from orders.models import Payment
from orders.payments.provider import (
    Event,
    EventKind,
    Forged,
    ProviderRefused,
    ProviderUnreachable,
    Refund,
    Session,
    TooOld,
)
from orders.payments.timing import is_current

try:
    import stripe
except ImportError:
    # A shop without Stripe need not have its library.
    stripe = None  # type: ignore[assignment]

# To connect, and to wait for the answer: both spent, the buyer still hears within two seconds that it did not work.
TIMEOUT_SECONDS = (0.5, 1.4)

# Stripe's sessions end 30 minutes to 24 hours after they were made. The hold is usually shorter, so the session is
# expired by us when the order has ended (payments/sessions.py); this is only what Stripe does by itself. It hangs on
# the order's deadline alone, since a call repeated with the same key must say the same.
LIVES_AFTER_DEADLINE = timedelta(minutes=32)
LIVES_AT_MOST = timedelta(hours=23, minutes=50)

SESSION_EVENTS = {
    "checkout.session.completed": EventKind.CAPTURED,
    "checkout.session.async_payment_succeeded": EventKind.CAPTURED,
    "checkout.session.async_payment_failed": EventKind.DECLINED,
    "checkout.session.expired": EventKind.EXPIRED,
}


class StripeProvider:
    """See provider.Provider. Amounts are in minor units on both sides, currencies in small letters on Stripe's."""

    def __init__(self) -> None:
        if stripe is None:
            raise ImproperlyConfigured("Stripe's library is missing: pip install -r requirements/stripe.txt")
        self.client = stripe.StripeClient(
            settings.STRIPE_SECRET_KEY,
            base_addresses={"api": settings.STRIPE_API_BASE} if settings.STRIPE_API_BASE else {},
            # A repetition is ours to decide: the sweeps and the buyer repeat, with the same keys.
            max_network_retries=0,
            http_client=stripe.RequestsClient(timeout=TIMEOUT_SECONDS),
        )

    def open_session(self, *, payment: Payment) -> Session:
        order = payment.order
        back = settings.SHOP_URL + order.get_absolute_url()
        known = {"payment": str(payment.pk), "order": str(order.number), "reservation": str(order.reservation_id or "")}
        ends_at = min(order.expires_at + LIVES_AFTER_DEADLINE, payment.created_at + LIVES_AT_MOST)
        with faults():
            session = self.client.v1.checkout.sessions.create(
                params={
                    "mode": "payment",
                    "client_reference_id": str(payment.pk),
                    "metadata": known,
                    # Copied to the charge, whose events come without the session.
                    "payment_intent_data": {"metadata": known},
                    "line_items": [
                        {
                            "quantity": 1,
                            "price_data": {
                                "currency": payment.currency.lower(),
                                "unit_amount": payment.amount_minor,
                                "product_data": {"name": description_of(payment)},
                            },
                        }
                    ],
                    # In another currency the amount could not be compared with what is due.
                    "adaptive_pricing": {"enabled": False},
                    # That of the buyer's browser: what we know of it may change between two calls for one page.
                    "locale": "auto",
                    "expires_at": int(ends_at.timestamp()),
                    "success_url": back,
                    "cancel_url": back,
                },
                options={"idempotency_key": f"session-{payment.pk}"},
            )
        return Session(reference=session.id, url=session.url or "")

    def close_session(self, *, payment: Payment) -> None:
        try:
            with faults():
                self.client.v1.checkout.sessions.expire(payment.provider_reference)
        except ProviderRefused:
            # Only open sessions can be expired, also for one that has expired already.
            with faults():
                session = self.client.v1.checkout.sessions.retrieve(payment.provider_reference)
            if session.status != "expired":
                raise

    def refund(self, *, payment: Payment) -> Refund:
        with faults():
            session = self.client.v1.checkout.sessions.retrieve(payment.provider_reference)
        intent = session.payment_intent
        if intent is None:
            raise ProviderRefused("the session took no money")
        try:
            with faults():
                refund = self.client.v1.refunds.create(
                    params={
                        "payment_intent": intent if isinstance(intent, str) else intent.id,
                        "metadata": {"payment": str(payment.pk)},
                    },
                    options={"idempotency_key": f"refund-{payment.pk}"},
                )
        except ProviderRefused as error:
            # Stripe forgets keys after a day or so; the charge remembers.
            if getattr(error.__cause__, "code", None) == "charge_already_refunded":
                return Refund.DONE
            raise
        if refund.status in ("failed", "canceled"):
            raise ProviderRefused(f"the refund is {refund.status}: {refund.failure_reason}")
        return Refund.DONE if refund.status == "succeeded" else Refund.UNDER_WAY

    def read_event(self, *, body: bytes, headers: Mapping[str, str]) -> Event | None:
        header = headers.get("Stripe-Signature", "")
        try:
            # Without a tolerance: the library would compare with the clock of this process.
            stripe.WebhookSignature.verify_header(body, header, settings.STRIPE_WEBHOOK_SECRET)
            said = json.loads(body)
        except (stripe.SignatureVerificationError, ValueError) as error:
            raise Forged(str(error)) from error
        signed_s = next(int(part[2:]) for part in header.split(",") if part.startswith("t="))
        if not is_current(signed_s):
            raise TooOld(f"signed at {signed_s}")
        return event_from(said)


def event_from(said: dict[str, Any]) -> Event | None:
    """Stripe's event as ours. None for kinds that say nothing about a payment, and for payments that are not ours."""
    thing = said["data"]["object"]
    kind = kind_of(said["type"], thing)
    metadata = thing.get("metadata") or {}
    try:
        payment_id = UUID(thing.get("client_reference_id") or metadata.get("payment") or "")
    except ValueError:
        return None
    if kind is None:
        return None
    amount = next((thing[name] for name in ("amount_total", "amount_refunded", "amount") if thing.get(name)), 0)
    return Event(
        event_id=said["id"],
        kind=kind,
        payment_id=payment_id,
        provider_reference=thing["id"] if thing["object"] == "checkout.session" else "",
        reservation_id=UUID(metadata["reservation"]) if metadata.get("reservation") else None,
        amount_minor=amount,
        currency=(thing.get("currency") or "").upper(),
        happened_at=datetime.fromtimestamp(said["created"], tz=UTC),
    )


def kind_of(type_: str, thing: dict[str, Any]) -> EventKind | None:
    if type_ == "checkout.session.completed" and thing.get("payment_status") != "paid":
        # A bank transfer or the like: another event comes when the money does.
        return None
    if type_ in SESSION_EVENTS:
        return SESSION_EVENTS[type_]
    # `refunded` is true once all of the charge is back.
    if type_ == "charge.refunded" and thing.get("refunded"):
        return EventKind.REFUNDED
    if type_ == "refund.updated" and thing.get("status") == "succeeded":
        return EventKind.REFUNDED
    if type_ == "refund.failed" or (type_ == "refund.updated" and thing.get("status") == "failed"):
        return EventKind.REFUND_FAILED
    return None


def description_of(payment: Payment) -> str:
    return ", ".join(f"{line.units} × {line.product}" for line in payment.order.lines.select_related("product"))


@contextmanager
def faults() -> Iterator[None]:
    """The library's exceptions as ours: whoever did not answer is unreachable, whoever said no has refused."""
    try:
        yield
    except (stripe.APIConnectionError, stripe.RateLimitError) as error:
        raise ProviderUnreachable(str(error)) from error
    except stripe.StripeError as error:
        # 409: another call with the same key is under way.
        if error.http_status is None or error.http_status >= 500 or error.http_status == 409:
            raise ProviderUnreachable(str(error)) from error
        raise ProviderRefused(str(error)) from error
