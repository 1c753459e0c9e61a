"""Why staff may want to look at an order. There is one reason at a time, and one that a person must act on is kept.

A reason that staff have resolved is remembered with its time (`Order.resolved_reasons`): only what happens later gives
it again. The caller has locked the order, and has just read it; `resolve` locks it itself.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Q

from orders.models import ATTENTION_TO_DO, SOLD, Attention, Order, Payment, PaymentEvent, Refund
from shop.databases.database_clock import database_now

NEVER = datetime(1970, 1, 1, tzinfo=UTC)

# The company has the money and has not reported it (payments/sessions.py).
UNREPORTED = Q(status__in=["pending", "failed"], found_paid_at__isnull=False, closed_at__isnull=False)

# The outcomes of events of payments, as payments/inbox.py names them: those to act on, the first one first, and those
# that are for information.
TO_DO = {"no_capture": Attention.REFUND_WITHOUT_PAYMENT, "amount_differs": Attention.AMOUNT_DIFFERS}
FOR_INFORMATION = {
    "paid_twice": Attention.PAID_TWICE,
    "one_each": Attention.ONE_EACH,
    "refund_started": Attention.LATE_PAYMENT_REFUNDED,
}


def give_reason(order: Order, reason: Attention, *, since: datetime | None = None) -> None:
    """List the order for this reason, unless it is listed for one that staff must act on.

    `since` is when the reason began, None for a new event: a reason that staff have resolved after that is not listed.
    A refund that fails takes the place of another reason, which comes back when the refund is done. It does not take
    that of a lost payment, by which the store's holds are repaired; its next attempt lists it again.
    """
    if since is not None and since <= resolved_at(order, reason):
        return
    kept = [Attention.PAYMENT_LOST] if reason is Attention.REFUND_FAILS else ATTENTION_TO_DO
    Order.objects.filter(pk=order.pk).exclude(attention__in=kept).update(attention=reason)


def payment_came(order: Order, payment: Payment, *, is_right: bool) -> None:
    """The payment is reported, so it is not missing any more. One of a wrong amount is not the one that was lost."""
    missing = order.attention in (Attention.PAYMENT_UNREPORTED, Attention.REFUND_WITHOUT_PAYMENT)
    if missing or (is_right and order.attention == Attention.PAYMENT_LOST):
        Order.objects.filter(pk=order.pk).update(attention=next(reasons_from_rows(order, but_for=payment), ""))


def is_over(order: Order, reason: Attention) -> None:
    """The reason no longer holds: no refund of the order fails, or all that was unreported has gone back."""
    listed = Order.objects.filter(pk=order.pk, attention=reason)
    listed.update(attention=next(reasons_from_rows(order), ""))


def resolve(order: Order) -> bool:
    """Staff have dealt with the order's reason. False if it has another one meanwhile, which stays.

    The next thing to act on is listed then, unless the reason was for information, which hides none. An unreported
    payment is waited for no longer. Its event still counts if it comes after all.
    """
    with transaction.atomic():
        locked = Order.objects.select_for_update().get(pk=order.pk)
        if locked.attention != order.attention:
            return False
        if order.attention == Attention.PAYMENT_UNREPORTED:
            pending = Payment.objects.filter(UNREPORTED, order=order, status=Payment.Status.PENDING)
            pending.update(status=Payment.Status.FAILED)
        resolved = {**(locked.resolved_reasons or {}), order.attention: database_now().isoformat()}
        locked.resolved_reasons = resolved
        others = reasons_from_rows(locked) if order.attention in ATTENTION_TO_DO else ()
        to_do = next((reason for reason in others if reason in ATTENTION_TO_DO), "")
        Order.objects.filter(pk=order.pk).update(attention=to_do, resolved_reasons=resolved)
    return True


def resolved_at(order: Order, reason: Attention) -> datetime:
    text = (order.resolved_reasons or {}).get(reason)
    return datetime.fromisoformat(text) if text else NEVER


def reasons_from_rows(order: Order, *, but_for: Payment | None = None) -> Iterator[Attention]:
    """The reasons that payments and their events tell: first those to act on, then what happened last.

    Once staff have resolved an unreported payment, the refund of all of it is the one that they were told to make.
    """
    payments = Payment.objects.filter(order=order)
    unreported = payments.filter(UNREPORTED, closed_at__gt=resolved_at(order, Attention.PAYMENT_UNREPORTED))
    if unreported.exclude(pk__in=[but_for.pk] if but_for else []).exists():
        yield Attention.PAYMENT_UNREPORTED
    by_id = {payment.pk: payment for payment in payments}
    events = PaymentEvent.objects.filter(payment_id__in=payments.values("pk"), applied_at__isnull=False)
    happened = []
    for event in events.order_by("-applied_at", "-pk"):
        reason = TO_DO.get(event.outcome) or FOR_INFORMATION.get(event.outcome)
        if event.outcome == "late":
            reason = reason_of_late_payment(order, event)
        if event.outcome == "no_capture" and is_told_refund(event, by_id[event.payment_id]):
            continue
        if reason and event.applied_at and event.applied_at > resolved_at(order, reason):
            happened.append(reason)
    yield from (reason for reason in TO_DO.values() if reason in happened)
    yield from (reason for reason in happened if reason not in TO_DO.values())


def is_told_refund(event: PaymentEvent, payment: Payment) -> bool:
    """Whether the event reports the refund that staff were told to make, of all of an unreported payment.

    False if it reports a failure. Staff may refund in several steps: the event of the last one has the whole sum.
    """
    if not payment.never_reported or event.kind == "refund_failed":
        return False
    told = PaymentEvent.objects.filter(payment_id=payment.pk, amount_minor__gte=payment.amount_minor)
    return told.filter(kind__in=("refunded", "refunded_so_far", "refund_paid")).exists()


def reason_of_late_payment(order: Order, event: PaymentEvent) -> Attention | None:
    if Refund.objects.filter(payment_id=event.payment_id, is_surplus=True).exists():
        return Attention.LATE_PAYMENT_REFUNDED
    return Attention.LATE_PAYMENT_KEPT if order.status in SOLD else None
