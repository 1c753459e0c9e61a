"""Payment pages: opened when the buyer wants to pay, closed when the order ended some other way.

The payment's row is committed before the provider is asked, and completed with the answer afterwards. Whoever dies in
between leaves a row without a page: the next press of the button asks again, and the provider, which knows the payment
by its id, gives the same page.
"""

from dataclasses import dataclass
from enum import StrEnum

import structlog
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from orders.models import Order, OrderStatus, Payment
from orders.payments import provider_choice, provider_names
from orders.payments.provider import ProviderRefused, ProviderUnreachable
from orders.payments.timing import next_attempt

log = structlog.get_logger(__name__)

# Each call may take the provider's timeout of some two seconds; a batch ends well before the task's limit of 60 s.
BATCH_MAX = 20


class Started(StrEnum):
    """The answer to a buyer who wants to pay."""

    NO_PROVIDER = "no_provider"
    REPEATED = "repeated"
    NOT_AWAITING_PAYMENT = "not_awaiting_payment"
    TIME_OVER = "time_over"
    ALREADY_OPEN = "already_open"
    OPENED = "opened"


@dataclass(frozen=True, slots=True)
class Start:
    """`payment` is there for `repeated` (see its status), `already_open` and `opened`; the last two have its `url`."""

    word: Started
    payment: Payment | None = None


def start(*, order_id: int, idempotency_key: str, provider_name: str | None = None) -> Start:
    """Open a payment page for the order, or give the one that is open, whatever the key.

    A key that was used for a payment that has ended gets that payment again. Raises ProviderUnreachable; nothing has
    changed for the buyer then, and the same call may be repeated.
    """
    begun = begin(order_id=order_id, idempotency_key=idempotency_key, provider_name=provider_name)
    if begun.word in (Started.OPENED, Started.ALREADY_OPEN) and begun.payment and not begun.payment.url:
        open_page(payment=begun.payment)
    return begun


def begin(*, order_id: int, idempotency_key: str, provider_name: str | None) -> Start:
    """The row of the payment, committed; the order is locked, so that two presses at once make one."""
    names = provider_names.chosen()
    if not names or provider_name not in (None, *names):
        return Start(Started.NO_PROVIDER)
    with transaction.atomic():
        order = Order.objects.select_for_update().get(pk=order_id)
        same_key = Payment.objects.filter(order=order, idempotency_key=idempotency_key).first()
        if same_key and same_key.status != Payment.Status.PENDING:
            return Start(Started.REPEATED, same_key)
        if order.status != OrderStatus.AWAITING_PAYMENT:
            return Start(Started.NOT_AWAITING_PAYMENT)
        if not Order.objects.filter(pk=order_id, expires_at__gt=Now()).exists():
            return Start(Started.TIME_OVER)
        pending = Payment.objects.filter(order=order, status=Payment.Status.PENDING).first()
        if pending:
            return Start(Started.ALREADY_OPEN, pending)
        payment = Payment.objects.create(
            order=order,
            provider=provider_name or names[0],
            idempotency_key=idempotency_key,
            amount_minor=order.amount_minor,
            currency=order.currency,
        )
    return Start(Started.OPENED, payment)


def open_page(*, payment: Payment) -> None:
    """Ask the provider for the page and note it. Raises ProviderUnreachable."""
    try:
        session = provider_choice.named(payment.provider).open_session(payment=payment)
    except ProviderRefused as error:
        # A configuration that the provider does not take is as good as no provider, until somebody mends it.
        log.error("payment_page_refused", payment=str(payment.pk), provider=payment.provider, error=str(error))
        raise ProviderUnreachable(str(error)) from error
    Payment.objects.filter(pk=payment.pk, url="").update(provider_reference=session.reference, url=session.url)
    payment.provider_reference, payment.url = session.reference, session.url


def close_sessions(*, batch_max: int = BATCH_MAX) -> int:
    """Close one batch of the pages whose orders have ended in another way. Returns how many were closed."""
    due = (
        Payment.objects.filter(status__in=(Payment.Status.PENDING, Payment.Status.FAILED), closed_at=None)
        .filter(Q(next_attempt_at=None) | Q(next_attempt_at__lte=Now()))
        .exclude(order__status=OrderStatus.AWAITING_PAYMENT)
        .select_related("order")
        .order_by("created_at")[:batch_max]
    )
    closed, away = 0, set()
    for payment in due:
        if payment.provider in away or not claim(payment=payment):
            continue
        try:
            close_page(payment=payment)
        except ProviderRefused as error:
            # It was paid meanwhile: the webhook tells.
            Payment.objects.filter(pk=payment.pk).update(last_error=str(error)[:500])
            continue
        except ProviderUnreachable as error:
            log.warning("closing_waits_for_provider", provider=payment.provider, error=str(error))
            away.add(payment.provider)
            continue
        note_closed(payment=payment)
        closed += 1
    return closed


def claim(*, payment: Payment) -> bool:
    """Put the next attempt off before making this one, so that two sweeps do not make it both."""
    attempts = payment.attempts + 1
    free = Payment.objects.filter(pk=payment.pk, status=payment.status, attempts=payment.attempts)
    return free.update(attempts=attempts, next_attempt_at=next_attempt(attempts=attempts)) == 1


def close_page(*, payment: Payment) -> None:
    """Close the page. One whose reference was lost by a crash is asked for once more, which makes it known."""
    if not payment.provider_reference:
        try:
            session = provider_choice.named(payment.provider).open_session(payment=payment)
        except ProviderRefused:
            # Known by the payment's id it would have been given again: there is none.
            return
        payment.provider_reference = session.reference
    provider_choice.named(payment.provider).close_session(payment=payment)


def note_closed(*, payment: Payment) -> None:
    now = timezone.now()
    known = {"closed_at": now, "provider_reference": payment.provider_reference, "last_error": ""}
    # Without a page no money comes. Should a message about money be on its way, it still counts (payments/inbox.py).
    pending = Payment.objects.filter(pk=payment.pk, status=Payment.Status.PENDING)
    if not pending.update(status=Payment.Status.FAILED, **known):
        Payment.objects.filter(pk=payment.pk, closed_at=None).update(**known)
