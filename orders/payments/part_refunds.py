"""Refunds of a part of a payment: requested from the provider until it confirms, each once.

The row is committed before the provider is called, and its id is what the provider knows the refund by. So a call that
is repeated after a crash or a timeout pays nothing twice. The payment stays `captured` until all of it is refunded.
Whoever changes a refund locks its order first.
"""

from uuid import UUID, uuid4

import structlog
from django.db import transaction
from django.db.models import F, Q, Sum
from django.db.models.functions import Now
from django.utils import timezone

from orders.life import lifecycle
from orders.models import Attention, Order, Payment, Refund
from orders.payments import provider_choice
from orders.payments.provider.interface import ProviderRefused, ProviderUnreachable, RefundAnswer
from orders.payments.provider.timing import next_attempt
from orders.payments.refunds import ATTEMPTS_BEFORE_ATTENTION, BATCH_MAX
from shop import failpoints

log = structlog.get_logger(__name__)

# Refunds that take money of their payment, paid back already or soon.
COUNTS = ~Q(status=Refund.Status.FAILED)


def request_due_parts(*, batch_max: int = BATCH_MAX) -> int:
    """Ask the providers for one batch of due refunds. Returns how many are done."""
    due = Refund.objects.filter(status=Refund.Status.DUE, is_whole=False, next_attempt_at__lte=Now())
    batch = due.select_related("payment__order").order_by("next_attempt_at")[:batch_max]
    return sum(request_part(refund=refund) for refund in batch)


def request_part(*, refund: Refund) -> bool:
    """Ask the provider once. True if the refund is done."""
    assert refund.payment is not None
    attempts = refund.attempts + 1
    # Schedule the next attempt before this one, so that two sweeps do not both call, and a crash leads to a retry.
    claimed = Refund.objects.filter(pk=refund.pk, status=Refund.Status.DUE, attempts=refund.attempts)
    if claimed.update(attempts=attempts, next_attempt_at=next_attempt(attempts=attempts)) != 1:
        return False
    try:
        given = provider_choice.named(refund.payment.provider).refund_part(refund=refund)
    except ProviderRefused as error:
        record_no(refund=refund, attempts=attempts, error=str(error), is_final=attempts >= ATTEMPTS_BEFORE_ATTENTION)
        return False
    except ProviderUnreachable as error:
        record_no(refund=refund, attempts=attempts, error=str(error), is_final=False)
        return False
    failpoints.reach("part_refund.after_provider")
    Refund.objects.filter(pk=refund.pk).update(provider_reference=given.reference, last_error="")
    return given.answer is RefundAnswer.DONE and finish_part(refund_id=refund.pk)


def record_no(*, refund: Refund, attempts: int, error: str, is_final: bool) -> None:
    """The provider gave no answer, or refused. A refusal that is repeated is final: nothing was paid by any call."""
    log.warning("part_refund_failed", refund=str(refund.pk), attempts=attempts, error=error)
    if is_final:
        fail_part(refund_id=refund.pk, error=error)
        return
    due = Refund.objects.filter(pk=refund.pk, status=Refund.Status.DUE)
    if due.update(last_error=error[:500]) and attempts >= ATTEMPTS_BEFORE_ATTENTION:
        Order.objects.filter(pk=refund.order_id).update(attention=Attention.REFUND_FAILS)


def finish_part(*, refund_id: UUID) -> bool:
    """The provider has confirmed the refund. Idempotent."""
    with transaction.atomic():
        refund = Refund.objects.get(pk=refund_id)
        order = Order.objects.select_for_update().get(pk=refund.order_id)
        due = Refund.objects.filter(pk=refund_id, status=Refund.Status.DUE)
        ended = {"ended_at": timezone.now(), "next_attempt_at": None, "last_error": ""}
        if due.update(status=Refund.Status.REFUNDED, **ended) != 1:
            return False
        if order.attention == Attention.REFUND_FAILS and refund.attempts >= ATTEMPTS_BEFORE_ATTENTION:
            Order.objects.filter(pk=order.pk).update(attention="")
        close_payment(refund=refund)
        lifecycle.mark_part_refunded(order, refund)
    return True


def close_payment(*, refund: Refund) -> None:
    """The payment of the refund is refunded once all of its money is."""
    refunded = Refund.objects.filter(payment__refunds=refund, status=Refund.Status.REFUNDED)
    total_minor = refunded.aggregate(total=Sum("amount_minor", default=0))["total"]
    captured = Payment.objects.filter(refunds=refund, status=Payment.Status.CAPTURED, amount_minor__lte=total_minor)
    captured.update(status=Payment.Status.REFUNDED, next_attempt_at=None)


def fail_part(*, refund_id: UUID, error: str) -> bool:
    """The provider will not pay the refund, or took it back. Its amount may be refunded again. Idempotent."""
    with transaction.atomic():
        refund = Refund.objects.get(pk=refund_id)
        order = Order.objects.select_for_update().get(pk=refund.order_id)
        ended = {"ended_at": timezone.now(), "next_attempt_at": None, "last_error": error[:500]}
        open_or_done = Refund.objects.filter(COUNTS, pk=refund_id)
        if open_or_done.update(status=Refund.Status.FAILED, **ended) != 1:
            return False
        reopened = Payment.objects.filter(refunds=refund, status=Payment.Status.REFUNDED)
        reopened.update(status=Payment.Status.CAPTURED)
        lifecycle.mark_part_refund_failed(order, refund)
    return True


# --- What webhooks report. The caller has locked the order. ---


def find_part(*, refund_id: UUID | None, order: Order, payment: Payment, amount_minor: int) -> Refund | None:
    """The refund that an event names. One that PostgreSQL has lost, with a restored backup, is written down again."""
    if refund_id is None:
        return None
    known = Refund.objects.filter(pk=refund_id).first()
    if known is not None:
        return known if known.payment_id == payment.pk else None
    log.error("lost_refund_found", refund=str(refund_id), order=str(order.number))
    return add_refund(refund_id=refund_id, order=order, payment=payment, amount_minor=amount_minor)


def note_total(*, order: Order, payment: Payment, total_minor: int) -> bool:
    """So much of the payment is refunded in all. What is more than our own refunds was made on the provider's site.

    False if it is nothing new. Refunds of ours that are due count too, so the event may come before or after theirs.
    """
    if payment.status != Payment.Status.CAPTURED:
        return False
    ours = Refund.objects.filter(COUNTS, payment=payment).aggregate(total=Sum("amount_minor", default=0))["total"]
    if total_minor <= ours:
        return False
    refund = add_refund(refund_id=uuid4(), order=order, payment=payment, amount_minor=total_minor - ours)
    return refund is not None and finish_part(refund_id=refund.pk)


def note_all_refunded(*, order: Order, payment: Payment) -> None:
    """All of the payment is refunded, by us or on the provider's site: what was due is done, the rest is written down.

    The payment and the order are marked by the caller.
    """
    due = Refund.objects.filter(payment=payment, status=Refund.Status.DUE)
    due.update(status=Refund.Status.REFUNDED, ended_at=timezone.now(), next_attempt_at=None, last_error="")
    rest_minor = order.amount_minor - order.refunded_minor
    if rest_minor and (rest := add_refund(refund_id=uuid4(), order=order, payment=payment, amount_minor=rest_minor)):
        Refund.objects.filter(pk=rest.pk).update(status=Refund.Status.REFUNDED, ended_at=timezone.now())


def add_refund(*, refund_id: UUID, order: Order, payment: Payment, amount_minor: int) -> Refund | None:
    """A refund that was made outside the shop, at most what is left. None if nothing is."""
    order.refresh_from_db(fields=["refunded_minor"])
    amount_minor = min(amount_minor, order.amount_minor - order.refunded_minor)
    if amount_minor <= 0:
        return None
    Order.objects.filter(pk=order.pk).update(refunded_minor=F("refunded_minor") + amount_minor)
    return Refund.objects.create(pk=refund_id, order=order, payment=payment, amount_minor=amount_minor)
