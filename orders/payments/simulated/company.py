"""The simulated payment company at work: its pages are paid, declined, closed and refunded, and the shop is told.

Every function is one transaction that refuses to be nested (`durable`): whoever called the company inside a transaction
of the shop would be told at once. Each move is guarded by the page's own state, and idempotent.
"""

import json
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from orders.payments.simulated.models import SimulatedMessage, SimulatedSession
from orders.payments.timing import database_now

Status = SimulatedSession.Status
Delivery = SimulatedSession.Delivery

# How much later the second of two messages comes, where they come twice or out of order.
SECOND_MESSAGE_SECONDS = 2


def open_session(
    *, payment_id: UUID, reservation_id: UUID | None, amount_minor: int, currency: str, return_url: str
) -> SimulatedSession:
    """The page of that payment; made at the first call."""
    with transaction.atomic(durable=True):
        session, _ = SimulatedSession.objects.get_or_create(
            payment_id=payment_id,
            defaults={
                "reference": f"sim_{secrets.token_urlsafe(24)}",
                "reservation_id": reservation_id,
                "amount_minor": amount_minor,
                "currency": currency,
                "return_url": return_url,
                "delivery": settings.SIMULATED_DELIVERY,
            },
        )
    return session


def pay(*, reference: str, delivery: str | None = None) -> bool:
    """The buyer pays. False where the page is over."""
    return move(reference, (Status.OPEN,), Status.CAPTURED, "captured", delivery)


def pay_slowly(*, reference: str, delivery: str | None = None) -> bool:
    """The buyer pays, and the money takes its time; nobody can close the page meanwhile. False where it is over."""
    with transaction.atomic(durable=True):
        open_page = SimulatedSession.objects.filter(reference=reference, status=Status.OPEN)
        if delivery:
            open_page.update(delivery=delivery)
        captures_at = Now() + timedelta(seconds=settings.SIMULATED_SLOW_SECONDS)
        return open_page.update(status=Status.PROCESSING, captures_at=captures_at) == 1


def decline(*, reference: str, delivery: str | None = None) -> bool:
    """The buyer's bank says no. False where the page is over."""
    return move(reference, (Status.OPEN,), Status.DECLINED, "declined", delivery)


def expire(*, reference: str) -> bool:
    """The shop wants the page closed. False where money came by it, or is on its way."""
    if move(reference, (Status.OPEN,), Status.EXPIRED, "expired"):
        return True
    return SimulatedSession.objects.filter(
        reference=reference, status__in=(Status.EXPIRED, Status.DECLINED, Status.REFUNDED)
    ).exists()


def refund(*, payment_id: UUID) -> bool:
    """The shop gives the money back. False where none came. The message that it is back follows, once."""
    session = SimulatedSession.objects.filter(payment_id=payment_id).first()
    if session is None:
        return False
    moved = move(session.reference, (Status.CAPTURED,), Status.REFUNDED, "refunded")
    return moved or SimulatedSession.objects.filter(pk=session.pk, status=Status.REFUNDED).exists()


def finish_slow(*, batch_max: int) -> int:
    """The money of slow payments that has arrived by now. Returns how many."""
    arrived = SimulatedSession.objects.filter(status=Status.PROCESSING, captures_at__lte=Now())
    references = list(arrived.order_by("captures_at").values_list("reference", flat=True)[:batch_max])
    return sum(move(reference, (Status.PROCESSING,), Status.CAPTURED, "captured") for reference in references)


def move(reference: str, before: Iterable[Status], after: Status, kind: str, delivery: str | None = None) -> bool:
    """Move the page if it is in one of the states `before`, and note what to tell the shop, in one transaction."""
    with transaction.atomic(durable=True):
        session = SimulatedSession.objects.select_for_update().filter(reference=reference, status__in=before).first()
        if session is None:
            return False
        session.status = after
        session.delivery = delivery or session.delivery
        session.save(update_fields=["status", "delivery"])
        SimulatedMessage.objects.bulk_create(messages_of(session=session, kind=kind))
    return True


def messages_of(*, session: SimulatedSession, kind: str) -> list[SimulatedMessage]:
    """What the shop is told, and when: once and now, or as the page's `delivery` wants it."""
    now = database_now()
    later = now + timedelta(seconds=SECOND_MESSAGE_SECONDS)
    message = message_of(session=session, kind=kind, happened_at=now, deliver_at=now)
    if session.delivery == Delivery.LATE:
        message.deliver_at = now + timedelta(seconds=settings.SIMULATED_LATE_SECONDS)
    if session.delivery == Delivery.TWICE:
        again = SimulatedMessage(session=session, event_id=message.event_id, body=message.body, deliver_at=later)
        return [message, again]
    if session.delivery == Delivery.OUT_OF_ORDER and kind == "captured":
        # An attempt that was declined before the one that went well, told after it.
        before = now - timedelta(seconds=10)
        return [message, message_of(session=session, kind="declined", happened_at=before, deliver_at=later)]
    return [message]


def message_of(
    *, session: SimulatedSession, kind: str, happened_at: datetime, deliver_at: datetime
) -> SimulatedMessage:
    event_id = f"evt_{secrets.token_urlsafe(16)}"
    body = {
        "id": event_id,
        "kind": kind,
        "payment": str(session.payment_id),
        "reference": session.reference,
        "reservation": str(session.reservation_id) if session.reservation_id else None,
        "amount_minor": session.amount_minor,
        "currency": session.currency,
        "happened_at": happened_at.isoformat(),
    }
    return SimulatedMessage(session=session, event_id=event_id, body=json.dumps(body), deliver_at=deliver_at)
