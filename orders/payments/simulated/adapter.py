"""The provider `simulated`: a payment company for development, demonstrations and tests. No money is involved.

Its payment page is in `pages.py`, its state in `company.py`, its webhooks in `delivery.py`. The shop uses it like any
other provider: through the calls below and through signed webhooks.
"""

import hmac
import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from orders.models import Payment, Refund
from orders.payments.provider.interface import (
    Event,
    EventKind,
    Forged,
    PagePaid,
    ProviderRefused,
    RefundAnswer,
    RefundReply,
    Session,
    TooOld,
    WayBack,
    path_back,
)
from orders.payments.provider.names import ProviderName, chosen_providers
from orders.payments.provider.timing import is_current
from orders.payments.simulated import company

SIGNATURE_HEADER = "Simulated-Signature"


class SimulatedProvider:
    """See provider.interface.Provider. The company runs in this process; its transactions must not be nested."""

    def check_keys(self) -> None:
        """It has none."""

    def open_session(self, *, payment: Payment) -> Session:
        session = company.open_session(
            payment_id=payment.pk,
            reservation_id=payment.order.reservation_id,
            order_number=payment.order.number,
            amount_minor=payment.amount_minor,
            currency=payment.currency,
            return_url=path_back(order=payment.order, way=WayBack.RETURNED),
            cancel_url=path_back(order=payment.order, way=WayBack.LEFT),
        )
        # A path without a host, so that buyers stay on the host name for which they have cookies.
        return Session(reference=session.reference, url=reverse("simulated-payment", args=[session.reference]))

    def close_session(self, *, payment: Payment) -> None:
        if company.expire(reference=payment.provider_reference):
            return
        if company.has_money(reference=payment.provider_reference):
            raise PagePaid("the page was paid")
        raise ProviderRefused("the money is on its way")

    def refund(self, *, refund: Refund) -> RefundReply:
        assert refund.payment_id is not None
        paid = company.refund(payment_id=refund.payment_id, refund_id=refund.pk, amount_minor=refund.amount_minor)
        if not paid:
            raise ProviderRefused("there is not so much captured money to give back")
        # Where the shop no longer offers it, its messages are not delivered.
        is_told = ProviderName.SIMULATED in chosen_providers()
        answer = RefundAnswer.UNDER_WAY if is_told else RefundAnswer.DONE
        return RefundReply(answer, reference=f"simref_{refund.pk.hex}")

    def read_event(self, *, body: bytes, headers: Mapping[str, str]) -> Event | None:
        signed_s, signature = parts_of(headers.get(SIGNATURE_HEADER, ""))
        if not hmac.compare_digest(signature.encode(), signature_of(body=body, signed_s=signed_s).encode()):
            raise Forged("the signature does not fit the body")
        if not is_current(signed_s):
            raise TooOld(f"signed at {signed_s}")
        try:
            message = json.loads(body)
            return Event(
                event_id=str(message["id"]),
                kind=EventKind(message["kind"]),
                payment_id=UUID(message["payment"]),
                provider_reference=str(message["reference"]),
                reservation_id=UUID(message["reservation"]) if message["reservation"] else None,
                amount_minor=int(message["amount_minor"]),
                currency=str(message["currency"]),
                happened_at=datetime.fromisoformat(message["happened_at"]),
                refund_id=UUID(message["refund"]) if message.get("refund") else None,
                order_number=UUID(message["order"]) if message.get("order") else None,
                card=str(message.get("card") or ""),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise Forged(f"signed, and yet not a message of ours: {error!r}") from error


def signature_header(*, body: bytes, signed_s: int) -> str:
    """The header's value for a message that is signed at `signed_s`, in seconds since 1970."""
    return f"t={signed_s},v1={signature_of(body=body, signed_s=signed_s)}"


def signature_of(*, body: bytes, signed_s: int) -> str:
    secret: str = settings.SIMULATED_WEBHOOK_SECRET
    return hmac.new(secret.encode(), b"%d.%b" % (signed_s, body), sha256).hexdigest()


def parts_of(header: str) -> tuple[int, str]:
    """The time and the signature in the header. Raises Forged."""
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    try:
        return int(parts["t"]), parts["v1"]
    except (KeyError, ValueError) as error:
        raise Forged("the signature header is missing or malformed") from error
