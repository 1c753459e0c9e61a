"""Why staff may want to look at an order. There is one reason at a time, and one that a person must act on is kept.

The caller has locked the order, and has just read it; `resolve` locks it itself.
"""

from collections.abc import Iterator

from django.db import transaction
from django.db.models import Q

from orders.models import ATTENTION_TO_DO, SOLD, Attention, Order, Payment, PaymentEvent, Refund

# The company has the money and has not reported it (payments/sessions.py).
UNREPORTED = Q(status__in=["pending", "failed"], found_paid_at__isnull=False, closed_at__isnull=False)

# The outcomes of events of payments that are for information, as payments/inbox.py names them.
FOR_INFORMATION = {
    "paid_twice": Attention.PAID_TWICE,
    "one_each": Attention.ONE_EACH,
    "refund_started": Attention.LATE_PAYMENT_REFUNDED,
}


def give_reason(order: Order, reason: Attention) -> None:
    """Staff may want to look at the order, unless they must act on it already.

    A refund that fails goes first: the former reason comes back when it is done. A lost payment stays, since the
    store's holds are repaired by it; the refund that fails is listed again with its next attempt.
    """
    kept = [Attention.PAYMENT_LOST] if reason is Attention.REFUND_FAILS else ATTENTION_TO_DO
    Order.objects.filter(pk=order.pk).exclude(attention__in=kept).update(attention=reason)


def payment_came(order: Order, payment: Payment, *, is_right: bool) -> None:
    """The payment is reported, so it is not missing any more. One of a wrong amount is not the one that was lost."""
    missing = order.attention in (Attention.PAYMENT_UNREPORTED, Attention.REFUND_WITHOUT_PAYMENT)
    if missing or (is_right and order.attention == Attention.PAYMENT_LOST):
        Order.objects.filter(pk=order.pk).update(attention=next(reasons_from_rows(order, but_for=payment), ""))


def refunds_work_again(order: Order) -> None:
    """No refund of the order fails any more."""
    failing = Order.objects.filter(pk=order.pk, attention=Attention.REFUND_FAILS)
    failing.update(attention=next(reasons_from_rows(order), ""))


def resolve(order: Order) -> bool:
    """Staff have dealt with the order's reason. False if it has another one meanwhile, which stays.

    An unreported payment is waited for no longer. Its event still counts if it comes after all.
    """
    with transaction.atomic():
        locked = Order.objects.select_for_update().get(pk=order.pk)
        if locked.attention != order.attention:
            return False
        if order.attention == Attention.PAYMENT_UNREPORTED:
            pending = Payment.objects.filter(UNREPORTED, order=order, status=Payment.Status.PENDING)
            pending.update(status=Payment.Status.FAILED)
        Order.objects.filter(pk=order.pk).update(attention="")
    return True


def reasons_from_rows(order: Order, *, but_for: Payment | None = None) -> Iterator[Attention]:
    """The reasons that payments and their events tell: first those to act on, then what happened last."""
    payments = Payment.objects.filter(order=order)
    if payments.filter(UNREPORTED).exclude(pk__in=[but_for.pk] if but_for else []).exists():
        yield Attention.PAYMENT_UNREPORTED
    events = PaymentEvent.objects.filter(payment_id__in=payments.values("pk"), applied_at__isnull=False)
    happened = list(events.order_by("-applied_at", "-pk").values_list("outcome", "payment_id"))
    outcomes = [outcome for outcome, _ in happened]
    if "no_capture" in outcomes:
        yield Attention.REFUND_WITHOUT_PAYMENT
    if "amount_differs" in outcomes:
        yield Attention.AMOUNT_DIFFERS
    for outcome, payment_id in happened:
        if outcome in FOR_INFORMATION:
            yield FOR_INFORMATION[outcome]
        elif outcome == "late" and Refund.objects.filter(payment_id=payment_id, is_surplus=True).exists():
            yield Attention.LATE_PAYMENT_REFUNDED
        elif outcome == "late" and order.status in SOLD:
            yield Attention.LATE_PAYMENT_KEPT
