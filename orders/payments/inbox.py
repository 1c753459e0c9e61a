"""What providers say, applied once: an event is noted and acted upon in one transaction that locks the order.

Events come twice, late, early and out of order. Twice: the event's id is unique. Early: one whose payment is not there
waits in the inbox, and a sweep applies it when the payment has come. Out of order: captured money is a fact, whatever
is said of the page that it came by; nothing that is said later undoes it but a refund.
"""

from datetime import timedelta
from enum import StrEnum

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils import timezone

from orders import lifecycle, settlement
from orders.models import SOLD, Attention, Order, OrderStatus, Payment, PaymentEvent
from orders.payments import late_money, refunds
from orders.payments.provider import Event, EventKind
from shop import failpoints

log = structlog.get_logger(__name__)

# One transaction for each event.
BATCH_MAX = 100


class Applied(StrEnum):
    """What an event did."""

    DUPLICATE = "duplicate"
    WAITING = "waiting"
    NOTHING = "nothing"
    PAID = "paid"
    PAID_TWICE = "paid_twice"
    AMOUNT_DIFFERS = "amount_differs"
    LATE = "late"
    GOES_BACK = "goes_back"
    FAILED = "failed"
    REFUNDED = "refunded"
    REFUND_FAILS = "refund_fails"


def receive(*, provider_name: str, event: Event) -> Applied:
    """Note an event and apply it, once. Whoever gets an answer may tell the provider so: it is committed."""
    with transaction.atomic():
        noted = PaymentEvent(
            provider=provider_name,
            event_id=event.event_id,
            kind=event.kind,
            payment_id=event.payment_id,
            provider_reference=event.provider_reference,
            reservation_id=event.reservation_id,
            amount_minor=event.amount_minor,
            currency=event.currency,
            happened_at=event.happened_at,
        )
        # Waits for a transaction that has the same event under way; without a row of ours, the other's is locked next.
        PaymentEvent.objects.bulk_create([noted], ignore_conflicts=True)
        row = PaymentEvent.objects.select_for_update().get(provider=provider_name, event_id=event.event_id)
        if row.applied_at is not None:
            return Applied.DUPLICATE
        applied = apply(row)
        failpoints.reach("payments.before_commit")
    failpoints.reach("payments.after_commit")
    follow(row, applied)
    return applied


def apply_waiting(*, batch_max: int = BATCH_MAX) -> int:
    """Apply one batch of the events whose payment has come since. Returns how many. Cheap where nothing waits."""
    there = Payment.objects.filter(pk=OuterRef("payment_id"))
    waiting = PaymentEvent.objects.filter(Exists(there), applied_at=None).order_by("received_at")
    count = 0
    for pk in list(waiting.values_list("pk", flat=True)[:batch_max]):
        with transaction.atomic():
            row = PaymentEvent.objects.select_for_update(skip_locked=True).filter(pk=pk, applied_at=None).first()
            if row is None:
                continue
            applied = apply(row)
        follow(row, applied)
        count += applied is not Applied.WAITING
    return count


def follow(row: PaymentEvent, applied: Applied) -> None:
    """After the commit: what needs the reservation store. Whoever dies before it leaves it to the sweeps."""
    if applied not in (Applied.PAID, Applied.LATE, Applied.GOES_BACK, Applied.REFUNDED):
        return
    order_id = Payment.objects.values_list("order_id", flat=True).get(pk=row.payment_id)
    if applied is Applied.LATE:
        late_money.settle_late_payment(order_id=order_id)
    else:
        settlement.settle_now([order_id])


def apply(row: PaymentEvent) -> Applied:
    """Act upon a locked event, in its transaction. Without its payment it goes on waiting."""
    known = Payment.objects.filter(pk=row.payment_id).first()
    if known is None:
        return Applied.WAITING
    order = Order.objects.select_for_update().get(pk=known.order_id)
    # Read again, now that the order is locked: everybody locks it before moving one of its payments.
    payment = Payment.objects.get(pk=row.payment_id)
    applied = Applied.NOTHING
    if payment.provider != row.provider:
        log.error("event_of_another_provider", provider=row.provider, payment=str(payment.pk))
    elif row.kind == EventKind.CAPTURED:
        applied = capture(order=order, payment=payment, row=row)
    elif row.kind in (EventKind.DECLINED, EventKind.EXPIRED):
        applied = fail(payment=payment)
    elif row.kind == EventKind.REFUNDED:
        applied = refunded(order=order, payment=payment)
    elif row.kind == EventKind.REFUND_FAILED:
        applied = refund_failed(order=order, payment=payment)
    row.applied_at, row.outcome = timezone.now(), applied.value
    row.save(update_fields=["applied_at", "outcome"])
    return applied


def capture(*, order: Order, payment: Payment, row: PaymentEvent) -> Applied:
    """Money has come. Whatever the clock says: as long as the order awaits it, the units are held for it."""
    if payment.status not in (Payment.Status.PENDING, Payment.Status.FAILED):
        return Applied.NOTHING
    if not payment.provider_reference:
        payment.provider_reference = row.provider_reference
        Payment.objects.filter(pk=payment.pk).update(provider_reference=row.provider_reference)
    if (row.amount_minor, row.currency) != (order.amount_minor, order.currency):
        log.error("amount_differs", order=str(order.number), amount_minor=row.amount_minor, currency=row.currency)
        refunds.owe_back(order=order, payment=payment, attention=Attention.AMOUNT_DIFFERS)
        return Applied.AMOUNT_DIFFERS
    if order.status == OrderStatus.AWAITING_PAYMENT:
        take_money(payment=payment, decide_late=False)
        lifecycle.mark_paid(order)
        return Applied.PAID
    other = Payment.objects.filter(order=order, status=Payment.Status.CAPTURED).exists()
    if order.status in SOLD or other:
        refunds.owe_back(order=order, payment=payment, attention=Attention.PAID_TWICE)
        return Applied.PAID_TWICE
    if order.status == OrderStatus.EXPIRED:
        take_money(payment=payment, decide_late=True)
        return Applied.LATE
    refunds.owe_back(order=order, payment=payment, attention=Attention.LATE_PAYMENT_REFUNDED)
    return Applied.GOES_BACK


def take_money(*, payment: Payment, decide_late: bool) -> None:
    """The payment is captured; a second page that was opened since is superseded, and closed by the sweep."""
    superseded = Payment.objects.filter(order_id=payment.order_id, status=Payment.Status.PENDING)
    superseded.exclude(pk=payment.pk).update(status=Payment.Status.FAILED)
    Payment.objects.filter(pk=payment.pk).update(
        status=Payment.Status.CAPTURED,
        captured_at=timezone.now(),
        attempts=0,
        next_attempt_at=Now() if decide_late else None,
        last_error="",
    )


def fail(*, payment: Payment) -> Applied:
    """The page is over without money. The order goes on awaiting it until its own deadline."""
    pending = Payment.objects.filter(pk=payment.pk, status=Payment.Status.PENDING)
    if pending.update(status=Payment.Status.FAILED, closed_at=timezone.now()):
        return Applied.FAILED
    Payment.objects.filter(pk=payment.pk, status=Payment.Status.FAILED, closed_at=None).update(closed_at=timezone.now())
    return Applied.NOTHING


def refunded(*, order: Order, payment: Payment) -> Applied:
    """The money is back, as we asked for or because somebody refunded it in the provider's own pages."""
    if payment.status == Payment.Status.REFUND_DUE:
        return Applied.REFUNDED if refunds.finish(payment_id=payment.pk) else Applied.NOTHING
    if payment.status != Payment.Status.CAPTURED:
        return Applied.NOTHING
    Payment.objects.filter(pk=payment.pk).update(status=Payment.Status.REFUNDED, next_attempt_at=None)
    lifecycle.mark_refunded_by_provider(order)
    return Applied.REFUNDED


def refund_failed(*, order: Order, payment: Payment) -> Applied:
    """The provider could not give the money back after all, sometimes after having said that it had."""
    if payment.status not in (Payment.Status.REFUND_DUE, Payment.Status.REFUNDED):
        return Applied.NOTHING
    Payment.objects.filter(pk=payment.pk).update(
        status=Payment.Status.REFUND_DUE,
        last_error="the provider reports that the refund failed",
        # A person has to act first; the sweep looks again tomorrow.
        next_attempt_at=Now() + timedelta(days=1),
    )
    lifecycle.mark_refund_failed(order)
    return Applied.REFUND_FAILS
