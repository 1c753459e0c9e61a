"""Refunds of a whole payment: started in the transaction that finds them due, requested until the provider confirms.

Refunds of a part are in `part_refunds.py`.
"""

from uuid import UUID

import structlog
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from orders.life import lifecycle
from orders.models import SOLD, Attention, Order, OrderStatus, Payment, Refund
from orders.payments import provider_choice
from orders.payments.provider.interface import ProviderRefused, ProviderUnreachable, RefundAnswer
from orders.payments.provider.timing import next_attempt
from shop import failpoints

log = structlog.get_logger(__name__)

# Each call may take the provider's timeout of about two seconds; a batch stays well below the task's limit of 60 s.
BATCH_MAX = 20

# After this many failed attempts a person should look at the order.
ATTEMPTS_BEFORE_ATTENTION = 5


def start_refund(*, order: Order, payment: Payment, attention: Attention) -> None:
    """Mark the payment as `refund_due`, and say why a person may want to look. The caller has locked the order.

    An order that ended unpaid becomes `refund_due` too; any other keeps its status.
    """
    Payment.objects.filter(pk=payment.pk).update(
        status=Payment.Status.REFUND_DUE,
        captured_at=payment.captured_at or timezone.now(),
        attempts=0,
        next_attempt_at=Now(),
        last_error="",
    )
    Order.objects.filter(pk=order.pk).update(attention=attention)
    lifecycle.mark_refund_due(order)


def request_due_refunds(*, batch_max: int = BATCH_MAX) -> int:
    """Ask the providers for one batch of due refunds. Returns how many are done."""
    due = (
        Payment.objects.filter(status=Payment.Status.REFUND_DUE, next_attempt_at__lte=Now())
        .select_related("order")
        .order_by("next_attempt_at")[:batch_max]
    )
    return sum(request_refund(payment=payment) for payment in due)


def request_refund(*, payment: Payment) -> bool:
    """Ask the provider once. True if the refund is done."""
    attempts = payment.attempts + 1
    # Schedule the next attempt before this one, so that two sweeps do not both call, and a crash leads to a retry.
    claimed = Payment.objects.filter(pk=payment.pk, status=Payment.Status.REFUND_DUE, attempts=payment.attempts)
    if claimed.update(attempts=attempts, next_attempt_at=next_attempt(attempts=attempts)) != 1:
        return False
    try:
        answer = provider_choice.named(payment.provider).refund(payment=payment)
    except (ProviderUnreachable, ProviderRefused) as error:
        record_failed_request(payment=payment, attempts=attempts, error=str(error))
        return False
    failpoints.reach("refund.after_provider")
    return answer is RefundAnswer.DONE and finish_refund(payment_id=payment.pk)


def record_failed_request(*, payment: Payment, attempts: int, error: str) -> None:
    log.warning("refund_failed", payment=str(payment.pk), provider=payment.provider, attempts=attempts, error=error)
    due = Payment.objects.filter(pk=payment.pk, status=Payment.Status.REFUND_DUE)
    if due.update(last_error=error[:500]) and attempts >= ATTEMPTS_BEFORE_ATTENTION:
        Order.objects.filter(pk=payment.order_id).update(attention=Attention.REFUND_FAILS)


def finish_refund(*, payment_id: UUID) -> bool:
    """The provider has confirmed the refund: mark the payment, and the order that waited for it. Idempotent."""
    with transaction.atomic():
        payment = Payment.objects.get(pk=payment_id)
        order = Order.objects.select_for_update().get(pk=payment.order_id)
        due = Payment.objects.filter(pk=payment_id, status=Payment.Status.REFUND_DUE)
        if due.update(status=Payment.Status.REFUNDED, next_attempt_at=None, last_error="") != 1:
            return False
        made_by_staff = Refund.objects.filter(payment_id=payment_id, is_whole=True, status=Refund.Status.DUE)
        made_by_staff.update(status=Refund.Status.REFUNDED, ended_at=timezone.now())
        if order.attention == Attention.REFUND_FAILS:
            Order.objects.filter(pk=order.pk).update(attention=attention_after(order=order, payment=payment))
        if order.status == OrderStatus.REFUND_DUE and not still_due(order=order):
            lifecycle.mark_refunded(order)
    return True


def attention_after(*, order: Order, payment: Payment) -> str:
    """The order's attention once a failing refund has succeeded: the reason it had before the refund failed."""
    if order.status in SOLD:
        return Attention.PAID_TWICE
    late = payment.captured_at is not None and payment.captured_at > order.expires_at
    return Attention.LATE_PAYMENT_REFUNDED if late else ""


def still_due(*, order: Order) -> bool:
    return Payment.objects.filter(order=order, status=Payment.Status.REFUND_DUE).exists()
