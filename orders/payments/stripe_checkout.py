"""The provider `stripe`: Checkout Sessions, through Stripe's own library. Needs the extra `stripe`.

The events to subscribe to: checkout.session.completed, .async_payment_succeeded, .async_payment_failed, .expired,
charge.refunded, refund.updated, refund.failed.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from orders.models import Payment, Refund
from orders.payments.provider.interface import (
    Event,
    EventKind,
    Forged,
    PagePaid,
    ProviderRefused,
    ProviderUnreachable,
    RefundAnswer,
    RefundReply,
    Session,
    TooOld,
    WayBack,
    path_back,
)
from orders.payments.provider.timing import is_current
from shop.databases.database_clock import database_now
from shop.prices.money import to_decimal, to_minor

try:
    import stripe
except ImportError:
    # The library is optional: a shop without Stripe does not need it.
    stripe = None  # type: ignore[assignment]

# To connect, and to wait for the answer. Together under two seconds, so that the buyer soon hears of a failure.
TIMEOUT_SECONDS = (0.5, 1.4)

# A Stripe session can last 30 minutes to 24 hours. A hold is usually shorter, so we expire the session when the order
# has ended (payments/sessions.py); this is only Stripe's own limit.
LIVES_AFTER_DEADLINE = timedelta(minutes=32)
LIVES_AT_MOST = timedelta(hours=23, minutes=50)

# More refunds of one payment than this are not expected. It is Stripe's own limit of a page.
LISTED_REFUNDS_MAX = 100

# So often a refund gets a new key, once its first key is answered by an error of Stripe's own. A call that was not
# answered in time must be repeated under the same key: while it goes on, Stripe's list does not show its refund yet.
REFUND_KEY_SECONDS = 3600

# Stripe refuses a longer name of a product.
NAME_LENGTH_MAX = 250

SESSION_EVENTS = {
    "checkout.session.completed": EventKind.CAPTURED,
    "checkout.session.async_payment_succeeded": EventKind.CAPTURED,
    "checkout.session.async_payment_failed": EventKind.DECLINED,
    "checkout.session.expired": EventKind.EXPIRED,
}

# Stripe's decimals are not always those of the shop, which takes them from Babel: ISK and UGX have none, but Stripe
# wants them with two, which must be 00. https://docs.stripe.com/currencies#minor-units
WITHOUT_DECIMALS = frozenset(
    ("BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF")
)
WITH_THREE_DECIMALS = frozenset(("BHD", "JOD", "KWD", "OMR", "TND"))


class StripeProvider:
    """See provider.interface.Provider. Both sides use minor units; Stripe writes currencies in lower case."""

    def __init__(self) -> None:
        if stripe is None:
            raise ImproperlyConfigured("Stripe's library is missing: pip install -r requirements/stripe.txt")
        self.client = stripe.StripeClient(
            settings.STRIPE_SECRET_KEY,
            base_addresses={"api": settings.STRIPE_API_BASE} if settings.STRIPE_API_BASE else {},
            # We retry ourselves: the sweeps and the buyer repeat a call, with the same idempotency key (`under_key`).
            max_network_retries=0,
            http_client=stripe.RequestsClient(timeout=TIMEOUT_SECONDS),
        )

    def check_keys(self) -> None:
        # What a restricted key must be allowed to do anyway.
        with converted_errors():
            self.client.v1.checkout.sessions.list(params={"limit": 1})

    def open_session(self, *, payment: Payment) -> Session:
        params = kept_request(payment)
        key = f"session-{payment.pk}"
        # A call that failed may have left a page behind. It takes no money, as its address was told to nobody.
        session = under_key(
            key,
            lambda key: self.client.v1.checkout.sessions.create(params=params, options={"idempotency_key": key}),
            next_key=f"{key}-{uuid4()}",
        )
        return Session(reference=session.id, url=session.url or "")

    def close_session(self, *, payment: Payment) -> None:
        try:
            with converted_errors():
                self.client.v1.checkout.sessions.expire(payment.provider_reference)
        except ProviderRefused:
            # Stripe refuses to expire any session that is not open, including one that has expired already.
            with converted_errors():
                session = self.client.v1.checkout.sessions.retrieve(payment.provider_reference)
            if session.payment_status == "paid":
                raise PagePaid("the session was paid") from None
            if session.status != "expired":
                raise

    def intent_of(self, payment: Payment) -> str:
        """The session's payment intent, by which Stripe refunds. Raises ProviderRefused if there is none."""
        with converted_errors():
            session = self.client.v1.checkout.sessions.retrieve(payment.provider_reference)
        intent = session.payment_intent
        if intent is None:
            raise ProviderRefused("the session took no money")
        return intent if isinstance(intent, str) else intent.id

    def refund(self, *, refund: Refund) -> RefundReply:
        assert refund.payment is not None
        try:
            intent = self.intent_of(refund.payment)
            with converted_errors():
                # Stripe forgets idempotency keys after about a day; the list of refunds remembers.
                made = self.client.v1.refunds.list(params={"payment_intent": intent, "limit": LISTED_REFUNDS_MAX})
        except ProviderRefused as error:
            # Without the list, an earlier call may have paid.
            raise ProviderUnreachable(str(error)) from error
        ours = [it for it in made.data if is_ours(it, refund)]
        failed = [it for it in ours if it.status in ("failed", "canceled")]
        found = next((it for it in ours if it not in failed), None)
        if found is None and failed and refund.payment.status != Payment.Status.REFUND_DUE:
            found = failed[0]
        if found is None:
            params = refund_request(refund, intent=intent)
            # After a failure under a new key: the old one would return the refund as it was before it failed. All that
            # is left too: an amount may have been asked for under the old one.
            is_rest = refund.amount_minor < refund.payment.amount_minor and "amount" not in params
            key = "-".join(["refund", str(refund.pk), *("rest" for _ in range(is_rest)), *("again" for _ in failed)])
            try:
                found = under_key(
                    key,
                    lambda key: self.client.v1.refunds.create(params=params, options={"idempotency_key": key}),
                    next_key=f"{key}-{int(database_now().timestamp()) // REFUND_KEY_SECONDS}",
                )
            except ProviderRefused as error:
                # All that was left was asked for.
                if "amount" not in params and getattr(error.__cause__, "code", None) == "charge_already_refunded":
                    return RefundReply(RefundAnswer.DONE, reference="")
                raise
        paid_minor = from_stripe(amount=found.amount, currency=refund.currency)
        return RefundReply(answer_of(found), reference=found.id, amount_minor=paid_minor)

    def read_event(self, *, body: bytes, headers: Mapping[str, str]) -> Event | None:
        header = headers.get("Stripe-Signature", "")
        try:
            # Without a tolerance, because the library would use this process's clock; is_current uses PostgreSQL's.
            stripe.WebhookSignature.verify_header(body, header, settings.STRIPE_WEBHOOK_SECRET)
            message = json.loads(body)
        except (stripe.SignatureVerificationError, ValueError) as error:
            raise Forged(str(error)) from error
        signed_s = next(int(part[2:]) for part in header.split(",") if part.startswith("t="))
        if not is_current(signed_s):
            raise TooOld(f"signed at {signed_s}")
        event = event_from(message)
        subject = message["data"]["object"]
        if event is None and kind_of(message["type"], subject) is EventKind.REFUND_FAILED:
            # Made on Stripe's own site, so that only the intent tells whose payment it is.
            subject["metadata"] = self.metadata_of(intent=subject.get("payment_intent"))
            event = event_from(message)
            return event and replace(event, provider_reference=subject["id"])
        return event

    def metadata_of(self, *, intent: str | None) -> dict[str, str]:
        """What the shop wrote on the session of a payment intent; empty if the shop opened none."""
        if not intent:
            return {}
        try:
            with converted_errors():
                found = self.client.v1.checkout.sessions.list(params={"payment_intent": intent, "limit": 1})
        except ProviderRefused as error:
            # Stripe sends the event again.
            raise ProviderUnreachable(str(error)) from error
        return next((session.metadata.to_dict() for session in found.data if session.metadata), {})


def refund_request(refund: Refund, *, intent: str) -> Any:
    """A whole payment is refunded without an amount: then Stripe refunds what it still has. So is the last part of one
    of which all goes back: staff may have refunded some of that on Stripe's site.
    """
    assert refund.payment is not None
    request: dict[str, Any] = {
        "payment_intent": intent,
        # Not under "payment": that was a refund of the whole, in the release before.
        "metadata": {"refund": str(refund.pk), "part_of": str(refund.payment.pk)},
    }
    others = Refund.objects.filter(payment=refund.payment, status=Refund.Status.DUE).exclude(pk=refund.pk)
    is_last = refund.payment.status == Payment.Status.REFUND_DUE and not others.exists()
    if refund.amount_minor < refund.payment.amount_minor and not is_last:
        request["amount"] = to_stripe(minor=refund.amount_minor, currency=refund.payment.currency)
    return request


def is_ours(made: Any, refund: Refund) -> bool:
    """Whether Stripe's refund is this one of the shop, or is of all the payment, by the release before."""
    known = made.metadata or {}
    ours = "refund" in known and known["refund"] == str(refund.pk)
    return ours or ("payment" in known and known["payment"] == str(refund.payment_id))


def answer_of(refund: Any) -> RefundAnswer:
    """Stripe's status of a refund. Raises ProviderRefused if it failed."""
    if refund.status in ("failed", "canceled"):
        raise ProviderRefused(f"the refund is {refund.status}: {refund.failure_reason}")
    return RefundAnswer.DONE if refund.status == "succeeded" else RefundAnswer.UNDER_WAY


def kept_request(payment: Payment) -> Any:
    """The request for the page, as it was first written down.

    Stripe refuses a repeated call whose parameters differ. Between two calls the buyer may change the language, and the
    shop a product's name or its own address.
    """
    Payment.objects.filter(pk=payment.pk, request__isnull=True).update(request=session_request(payment))
    payment.refresh_from_db(fields=["request"])
    return payment.request


def session_request(payment: Payment) -> dict[str, Any]:
    order = payment.order
    known = {"payment": str(payment.pk), "order": str(order.number), "reservation": str(order.reservation_id or "")}
    ends_at = min(order.expires_at + LIVES_AFTER_DEADLINE, payment.created_at + LIVES_AT_MOST)
    return {
        "mode": "payment",
        "client_reference_id": str(payment.pk),
        "metadata": known,
        # Also on the charge, whose events do not name the session.
        "payment_intent_data": {"metadata": known},
        "line_items": line_items(payment),
        # An amount in another currency could not be compared with what is due.
        "adaptive_pricing": {"enabled": False},
        "locale": "auto",
        "expires_at": int(ends_at.timestamp()),
        "success_url": settings.SHOP_URL + path_back(order=order, way=WayBack.RETURNED),
        "cancel_url": settings.SHOP_URL + path_back(order=order, way=WayBack.LEFT),
    }


def line_items(payment: Payment) -> list[dict[str, Any]]:
    """An item for each line of the order, and one for the delivery. Together they are the payment's amount."""
    order = payment.order
    lines = order.lines.select_related("variant__product")
    items = [line_item(payment, line.title, line.unit_price_minor, units=line.units) for line in lines]
    if order.shipping_minor:
        items.append(line_item(payment, order.shipping_name or _("Shipping"), order.shipping_minor))
    return items


def line_item(payment: Payment, name: str, price_minor: int, *, units: int = 1) -> dict[str, Any]:
    price = {
        "currency": payment.currency.lower(),
        "unit_amount": to_stripe(minor=price_minor, currency=payment.currency),
        "product_data": {"name": Truncator(name).chars(NAME_LENGTH_MAX)},
    }
    return {"quantity": units, "price_data": price}


def event_from(message: dict[str, Any]) -> Event | None:
    """Convert Stripe's event. None if its kind does not concern a payment, or the payment is not from this shop."""
    subject = message["data"]["object"]
    kind = kind_of(message["type"], subject)
    metadata = subject.get("metadata") or {}
    try:
        payment_id = UUID(
            subject.get("client_reference_id") or metadata.get("payment") or metadata.get("part_of") or ""
        )
    except ValueError:
        return None
    if kind is None:
        return None
    amount = next((subject[name] for name in ("amount_total", "amount_refunded", "amount") if subject.get(name)), 0)
    currency = (subject.get("currency") or "").upper()

    def in_shops_units(amount: int) -> int:
        return from_stripe(amount=amount, currency=currency) if currency else amount

    sum_before = (message["data"].get("previous_attributes") or {}).get("amount_refunded", amount)
    return Event(
        event_id=message["id"],
        kind=kind,
        payment_id=payment_id,
        provider_reference=subject["id"] if subject["object"] == "checkout.session" else "",
        reservation_id=UUID(metadata["reservation"]) if metadata.get("reservation") else None,
        amount_minor=in_shops_units(amount),
        currency=currency,
        happened_at=datetime.fromtimestamp(message["created"], tz=UTC),
        refund_id=UUID(metadata["refund"]) if metadata.get("refund") else None,
        order_number=UUID(metadata["order"]) if metadata.get("order") else None,
        part_minor=in_shops_units(max(amount - (sum_before or 0), 0)) or None,
    )


def kind_of(type_: str, subject: dict[str, Any]) -> EventKind | None:
    if type_ == "checkout.session.completed" and subject.get("payment_status") != "paid":
        # For example a bank transfer: another event reports when the money arrives.
        return None
    if type_ in SESSION_EVENTS:
        return SESSION_EVENTS[type_]
    # `refunded` is true once the whole charge is refunded; until then `amount_refunded` is the sum of all refunds.
    if type_ == "charge.refunded":
        return EventKind.REFUNDED if subject.get("refunded") else EventKind.REFUNDED_SO_FAR
    is_one = bool((subject.get("metadata") or {}).get("refund"))
    if type_ == "refund.updated" and subject.get("status") == "succeeded":
        return EventKind.REFUND_PAID if is_one else EventKind.REFUNDED
    if type_ == "refund.failed" or (type_ == "refund.updated" and subject.get("status") in ("failed", "canceled")):
        return EventKind.REFUND_FAILED
    return None


def under_key(key: str, call: Callable[[str], Any], *, next_key: str) -> Any:
    """Make a call under an idempotency key, by which Stripe recognises a call that is repeated.

    For a day Stripe answers a key as it did first, and marks the answer; an error of its own too, which says nothing
    about now. The call is then made under `next_key`. https://docs.stripe.com/error-low-level
    """
    with converted_errors():
        try:
            return call(key)
        except stripe.StripeError as error:
            if (error.headers or {}).get("Idempotent-Replayed") != "true":
                raise
            return call(next_key)


@contextmanager
def converted_errors() -> Iterator[None]:
    """Convert the library's exceptions: no usable answer is ProviderUnreachable, a refusal is ProviderRefused."""
    try:
        yield
    except (stripe.APIConnectionError, stripe.RateLimitError) as error:
        raise ProviderUnreachable(str(error)) from error
    except stripe.StripeError as error:
        # 409: another call with the same idempotency key is still running.
        if error.http_status is None or error.http_status >= 500 or error.http_status == 409:
            raise ProviderUnreachable(str(error)) from error
        raise ProviderRefused(str(error)) from error


def stripe_decimals(currency: str) -> int:
    if currency in WITHOUT_DECIMALS:
        return 0
    return 3 if currency in WITH_THREE_DECIMALS else 2


def to_stripe(*, minor: int, currency: str) -> int:
    """The shop's minor units as Stripe's. Raises ValueError if Stripe has fewer decimals."""
    amount = to_decimal(minor=minor, currency=currency).scaleb(stripe_decimals(currency))
    if amount != amount.to_integral_value():
        raise ValueError(f"Stripe has {stripe_decimals(currency)} decimals for {currency}")
    return int(amount)


def from_stripe(*, amount: int, currency: str) -> int:
    """Stripe's minor units as the shop's. Raises ValueError if the shop has fewer decimals."""
    return to_minor(amount=Decimal(amount).scaleb(-stripe_decimals(currency)), currency=currency)
