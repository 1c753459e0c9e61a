"""The state of the simulated payment company: pages are paid, declined, closed and refunded, and webhooks are queued.

Every function is one `durable` transaction, which raises if the shop calls it inside a transaction of its own. Each
change is guarded by the page's status, and idempotent.
"""

import json
import secrets
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.db.models.functions import Now

from orders.payments.simulated.models import SimulatedMessage, SimulatedSession
from shop.databases.database_clock import database_now

Status = SimulatedSession.Status
Delivery = SimulatedSession.Delivery

# How much later the second message is sent, if messages are sent twice or out of order.
SECOND_MESSAGE_SECONDS = 2


def open_session(
    *,
    payment_id: UUID,
    reservation_id: UUID | None,
    order_number: UUID | None = None,
    amount_minor: int,
    currency: str,
    return_url: str,
    cancel_url: str,
) -> SimulatedSession:
    """The page of the payment, created by the first call. It leads to `cancel_url` if the buyer has not paid."""
    with transaction.atomic(durable=True):
        session, _ = SimulatedSession.objects.get_or_create(
            payment_id=payment_id,
            defaults={
                "reference": f"sim_{secrets.token_urlsafe(24)}",
                "reservation_id": reservation_id,
                "order_number": order_number,
                "amount_minor": amount_minor,
                "currency": currency,
                "return_url": return_url,
                "cancel_url": cancel_url,
                "delivery": settings.SIMULATED_DELIVERY,
            },
        )
    return session


def note_card(*, reference: str, card: str) -> None:
    """The card that the buyer pays with, as one word for each card."""
    with transaction.atomic(durable=True):
        SimulatedSession.objects.filter(reference=reference, status=Status.OPEN).update(card=card)


def pay(*, reference: str, delivery: str | None = None) -> bool:
    """The buyer pays. False if the page is no longer open."""
    return change_status(reference, Status.OPEN, Status.CAPTURED, "captured", delivery)


def pay_slowly(*, reference: str, delivery: str | None = None) -> bool:
    """The buyer pays, and the money arrives later; until then the page cannot be closed. False if it is not open."""
    with transaction.atomic(durable=True):
        open_page = SimulatedSession.objects.filter(reference=reference, status=Status.OPEN)
        if delivery:
            open_page.update(delivery=delivery)
        captures_at = Now() + timedelta(seconds=settings.SIMULATED_SLOW_SECONDS)
        return open_page.update(status=Status.PROCESSING, captures_at=captures_at) == 1


def decline(*, reference: str, delivery: str | None = None) -> bool:
    """The buyer's bank declines. False if the page is no longer open."""
    return change_status(reference, Status.OPEN, Status.DECLINED, "declined", delivery)


def expire(*, reference: str) -> bool:
    """Close the page for the shop. False if it was paid, or a payment is processing."""
    if change_status(reference, Status.OPEN, Status.EXPIRED, "expired"):
        return True
    return SimulatedSession.objects.filter(
        reference=reference, status__in=(Status.EXPIRED, Status.DECLINED, Status.REFUNDED)
    ).exists()


def has_money(*, reference: str) -> bool:
    return SimulatedSession.objects.filter(reference=reference, status=Status.CAPTURED).exists()


def refund(*, payment_id: UUID, refund_id: UUID, amount_minor: int) -> bool:
    """Pay back an amount for the shop. False if so much is not there. A webhook reports the refund, once.

    Where all is paid back, a shop that asks for all again hears yes: a restored backup may have lost the first refund.
    """
    with transaction.atomic(durable=True):
        session = SimulatedSession.objects.select_for_update().filter(payment_id=payment_id).first()
        if session is None:
            return False
        all_again = session.status == Status.REFUNDED and amount_minor == session.amount_minor
        if all_again or session.refunds.filter(refund_id=refund_id).exists():
            return True
        left_minor = session.amount_minor - paid_back_minor(session)
        if session.status != Status.CAPTURED or not 0 < amount_minor <= left_minor:
            return False
        session.refunds.create(refund_id=refund_id, amount_minor=amount_minor)
        if amount_minor == left_minor:
            session.status = Status.REFUNDED
            session.save(update_fields=["status"])
        refunded = {"refund": str(refund_id), "amount_minor": amount_minor}
        SimulatedMessage.objects.bulk_create(messages_of(session=session, kind="refund_paid", refunded=refunded))
    return True


def paid_back_minor(session: SimulatedSession) -> int:
    total: int = session.refunds.aggregate(total=Sum("amount_minor", default=0))["total"]
    return total


def finish_slow(*, batch_max: int) -> int:
    """Capture the slow payments whose money has arrived by now. Returns how many."""
    arrived = SimulatedSession.objects.filter(status=Status.PROCESSING, captures_at__lte=Now())
    references = list(arrived.order_by("captures_at").values_list("reference", flat=True)[:batch_max])
    return sum(change_status(reference, Status.PROCESSING, Status.CAPTURED, "captured") for reference in references)


def change_status(reference: str, before: Status, after: Status, kind: str, delivery: str | None = None) -> bool:
    """Change the page's status if it is `before`, and queue the webhooks, in one transaction."""
    with transaction.atomic(durable=True):
        session = SimulatedSession.objects.select_for_update().filter(reference=reference, status=before).first()
        if session is None:
            return False
        session.status = after
        session.delivery = delivery or session.delivery
        session.save(update_fields=["status", "delivery"])
        SimulatedMessage.objects.bulk_create(messages_of(session=session, kind=kind))
    return True


def messages_of(
    *, session: SimulatedSession, kind: str, refunded: dict[str, Any] | None = None
) -> list[SimulatedMessage]:
    """The webhooks for a change: one, due now, or as the page's `delivery` says. `refunded` is said of a refund."""
    now = database_now()
    later = now + timedelta(seconds=SECOND_MESSAGE_SECONDS)
    message = message_of(session=session, kind=kind, happened_at=now, deliver_at=now, refunded=refunded)
    if session.delivery == Delivery.LATE:
        message.deliver_at = now + timedelta(seconds=settings.SIMULATED_LATE_SECONDS)
    if session.delivery == Delivery.TWICE:
        again = SimulatedMessage(session=session, event_id=message.event_id, body=message.body, deliver_at=later)
        return [message, again]
    if session.delivery == Delivery.OUT_OF_ORDER and kind == "captured":
        # An earlier attempt that was declined, reported after the successful one.
        before = now - timedelta(seconds=10)
        return [message, message_of(session=session, kind="declined", happened_at=before, deliver_at=later)]
    return [message]


def message_of(
    *,
    session: SimulatedSession,
    kind: str,
    happened_at: datetime,
    deliver_at: datetime,
    refunded: dict[str, Any] | None = None,
) -> SimulatedMessage:
    event_id = f"evt_{secrets.token_urlsafe(16)}"
    body = {
        "id": event_id,
        "kind": kind,
        "payment": str(session.payment_id),
        "reference": session.reference,
        "reservation": str(session.reservation_id) if session.reservation_id else None,
        "order": str(session.order_number) if session.order_number else None,
        "amount_minor": session.amount_minor,
        "currency": session.currency,
        "card": session.card,
        "happened_at": happened_at.isoformat(),
        **(refunded or {}),
    }
    return SimulatedMessage(session=session, event_id=event_id, body=json.dumps(body), deliver_at=deliver_at)
