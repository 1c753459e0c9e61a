"""Payment pages: opened when the buyer wants to pay, closed when the order ended in another way.

The payment's row is committed before the provider is called; the answer is saved afterwards. A crash in between leaves
a row without a page. The next press of the button calls the provider again, which recognises the payment's id and
returns the same page.
"""

import time
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from functools import partial

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from orders.models import ATTENTION_TO_DO, SOLD, Attention, Order, OrderStatus, Payment
from orders.payments import provider_choice
from orders.payments.provider.call_bound import web_calls
from orders.payments.provider.interface import PagePaid, ProviderRefused, ProviderUnreachable, Session
from orders.payments.provider.names import chosen_providers
from orders.payments.provider.timing import SWEEP_SECONDS, claim_attempt, next_attempt
from orders.refund_records import captured_payment
from orders.units import one_for_each
from orders.units.lost_payments import sold_in_the_store
from orders.units.one_for_each import Claim
from seckill.items.loop import until
from shop.prices.money import to_decimal
from shop.tracing.steps import steps

log = structlog.get_logger(__name__)

BATCH_MAX = 20

# A page that is as old may have ended, without an event that said so, or can be opened no more: Stripe's pages live for
# 24 hours, and it opens none that has less than 30 minutes left.
MAY_HAVE_ENDED_AFTER = timedelta(hours=23)

# An event comes within seconds. One that was not answered is repeated within minutes, and then ever more rarely.
UNREPORTED_AFTER = timedelta(hours=1)


# Money that comes days later, such as a bank transfer, is not waited for with a question every five minutes. After a
# month the provider is asked no more; an event still counts.
SLOW_WAIT_SECONDS_MAX = 6 * 3600
SLOW_MONEY_MAX = timedelta(days=30)


class StartOutcome(StrEnum):
    """The answer to a buyer who wants to pay."""

    NO_PROVIDER = "no_provider"
    REPEATED = "repeated"
    NOT_AWAITING_PAYMENT = "not_awaiting_payment"
    TIME_OVER = "time_over"
    PRICE_CHANGED = "price_changed"
    RECORD_LOST = "record_lost"
    ADDRESS_NEEDED = "address_needed"
    ADDRESS_TAKEN = "address_taken"
    ALREADY_OPEN = "already_open"
    OPENED = "opened"


@dataclass(frozen=True, slots=True)
class StartResult:
    """`payment` is set with `repeated` (see its status), `already_open` and `opened`; the last two have a `url`."""

    outcome: StartOutcome
    payment: Payment | None = None


def start(
    *, order_id: int, idempotency_key: str, provider_name: str | None = None, seen_amount: Decimal | None = None
) -> StartResult:
    """Open a payment page for the order, or return the one that is open, whatever the key.

    `seen_amount` is what the buyer was shown: with another amount no page is opened.

    A key that belongs to a payment that has ended returns that payment, and any key the payment of a paid order. Raises
    ProviderUnreachable; the same call may then be repeated.
    """
    # Before the order is read: the store hears of a payment only after PostgreSQL has committed it.
    sold = is_sold_in_the_store(order_id=order_id)
    create = partial(
        create_payment,
        order_id=order_id,
        idempotency_key=idempotency_key,
        provider_name=provider_name,
        seen_amount=seen_amount,
        sold_in_the_store=sold,
    )
    result = create()
    if result.outcome is StartOutcome.ALREADY_OPEN and result.payment and close_if_old(payment=result.payment):
        result = create()
    if result.outcome in (StartOutcome.OPENED, StartOutcome.ALREADY_OPEN) and result.payment and not result.payment.url:
        open_page(payment=result.payment)
    return result


def is_sold_in_the_store(*, order_id: int) -> bool:
    """Whether the reservation store has the order as paid.

    If PostgreSQL then has it as unpaid, PostgreSQL was restored from a backup, and the buyer would be charged twice.
    False if the store does not answer: a buyer may pay without it.
    """
    reservation_id = Order.objects.values_list("reservation_id", flat=True).get(pk=order_id)
    return bool(sold_in_the_store(reservation_ids=[reservation_id]))


def create_payment(
    *,
    order_id: int,
    idempotency_key: str,
    provider_name: str | None,
    seen_amount: Decimal | None,
    sold_in_the_store: bool,
) -> StartResult:
    """Create and commit the payment's row. The order is locked, so that two calls at once create only one."""
    names = chosen_providers()
    if not names or provider_name not in (None, *names):
        return StartResult(StartOutcome.NO_PROVIDER)
    with transaction.atomic():
        order = Order.objects.select_for_update().get(pk=order_id)
        same_key = Payment.objects.filter(order=order, idempotency_key=idempotency_key).first()
        if same_key and same_key.status != Payment.Status.PENDING:
            return StartResult(StartOutcome.REPEATED, same_key)
        if order.status in SOLD and (captured := captured_payment(order)):
            return StartResult(StartOutcome.REPEATED, captured)
        if order.status != OrderStatus.AWAITING_PAYMENT:
            return StartResult(StartOutcome.NOT_AWAITING_PAYMENT)
        if sold_in_the_store:
            log.error("order_paid_in_the_store_only", order=str(order.number))
            return StartResult(StartOutcome.RECORD_LOST)
        if not Order.objects.filter(pk=order_id, expires_at__gt=Now()).exists():
            return StartResult(StartOutcome.TIME_OVER)
        if seen_amount not in (None, to_decimal(minor=order.amount_minor, currency=order.currency)):
            return StartResult(StartOutcome.PRICE_CHANGED)
        claim = one_for_each.claim_address(order)
        if claim is not Claim.GRANTED:
            missing = claim is Claim.ADDRESS_MISSING
            return StartResult(StartOutcome.ADDRESS_NEEDED if missing else StartOutcome.ADDRESS_TAKEN)
        pending = Payment.objects.filter(order=order, status=Payment.Status.PENDING).first()
        if pending:
            return StartResult(StartOutcome.ALREADY_OPEN, pending)
        give_whole_time(order)
        payment = Payment.objects.create(
            order=order,
            provider=provider_name or names[0],
            idempotency_key=idempotency_key,
            amount_minor=order.amount_minor,
            currency=order.currency,
        )
    return StartResult(StartOutcome.OPENED, payment)


def give_whole_time(order: Order) -> None:
    """A guest who opens a first payment page has as long as everybody; GUEST_HOLD_SECONDS is for those who do not."""
    if order.buyer_id is None and order.reservation_id is None and not Payment.objects.filter(order=order).exists():
        order.expires_at += timedelta(seconds=max(0, settings.CHECKOUT_HOLD_SECONDS - settings.GUEST_HOLD_SECONDS))
        Order.objects.filter(pk=order.pk).update(expires_at=order.expires_at)


def open_page(*, payment: Payment) -> None:
    """Ask the provider for the page and save it. Raises ProviderUnreachable, at once if too many calls wait for it."""
    began_s = time.time()
    try:
        with web_calls.one_call():
            session = ask_for_page(payment)
    except ProviderRefused as error:
        # The provider does not accept our configuration. For the buyer that is the same as an unreachable provider.
        log.error("payment_page_refused", payment=str(payment.pk), provider=payment.provider, error=str(error))
        raise ProviderUnreachable(str(error)) from error
    unsaved = Payment.objects.filter(pk=payment.pk, url="")
    is_first = unsaved.update(provider_reference=session.reference, url=session.url, last_error="")
    payment.provider_reference, payment.url = session.reference, session.url
    if not is_first:
        # Another call was faster. After an error of the provider's it may have another page, and only one may be paid.
        payment.refresh_from_db(fields=["provider_reference", "url"])
    steps.note(payment.order.purchase, "payment_page", began=began_s, provider=payment.provider)


def ask_for_page(payment: Payment) -> Session:
    """Notes that the provider gave no page: such an order does not count against its buyer (life/ended_unpaid.py)."""
    try:
        return provider_choice.provider_named(payment.provider).open_session(payment=payment)
    except (ProviderRefused, ProviderUnreachable) as error:
        text = str(error) or type(error).__name__
        Payment.objects.filter(pk=payment.pk, url="").update(last_error=text[:500])
        raise


def close_if_old(*, payment: Payment) -> bool:
    """Close a page that may have ended unheard, or whose provider the shop no longer offers.

    False if it is another one, or if its money may still come.
    """
    is_old = Payment.objects.filter(pk=payment.pk, created_at__lte=Now() - MAY_HAVE_ENDED_AFTER).exists()
    if not is_old and payment.provider in chosen_providers():
        return False
    try:
        with web_calls.one_call():
            close_page(payment=payment)
    except ProviderRefused as error:
        log.warning("old_page_not_closed", payment=str(payment.pk), provider=payment.provider, error=str(error))
        return False
    mark_closed(payment=payment)
    return True


def close_sessions(*, batch_max: int = BATCH_MAX) -> int:
    """Close one batch of pages whose orders no longer await payment. Returns how many were closed.

    New pages come first: those that cannot be closed must not keep them out of the batch.
    """
    due = (
        Payment.objects.filter(status__in=(Payment.Status.PENDING, Payment.Status.FAILED), closed_at=None)
        .filter(Q(next_attempt_at=None) | Q(next_attempt_at__lte=Now()))
        .exclude(order__status=OrderStatus.AWAITING_PAYMENT)
        .select_related("order")
        .order_by(F("next_attempt_at").asc(nulls_first=True), "created_at")[:batch_max]
    )
    closed, unreachable = 0, set()
    for payment in until(time.monotonic() + SWEEP_SECONDS, due):
        if payment.provider in unreachable:
            continue
        unclosed = Payment.objects.filter(pk=payment.pk, status=payment.status)
        if not claim_attempt(unclosed, attempts_before=payment.attempts):
            continue
        try:
            close_page(payment=payment)
        except PagePaid as error:
            note_paid(payment=payment, error=str(error))
            continue
        except ProviderRefused as error:
            # Slow money is on its way, and an event will report it.
            if Payment.objects.filter(pk=payment.pk, created_at__gt=Now() - SLOW_MONEY_MAX).exists():
                later = next_attempt(attempts=payment.attempts + 1, wait_seconds_max=SLOW_WAIT_SECONDS_MAX)
                unclosed.filter(closed_at=None).update(last_error=str(error)[:500], next_attempt_at=later)
                continue
            log.warning("slow_payment_never_came", payment=str(payment.pk), provider=payment.provider)
        except ProviderUnreachable as error:
            log.warning("closing_waits_for_provider", provider=payment.provider, error=str(error))
            unreachable.add(payment.provider)
            continue
        mark_closed(payment=payment)
        closed += 1
    return closed


def note_paid(*, payment: Payment, error: str) -> None:
    """The provider has the money, and no event has said so. If none comes for an hour, the order is listed for staff.

    From then on the page counts as closed, and the payment as pending: an event that comes after all decides. An order
    that staff must look at for another reason is listed for this one afterwards.
    """
    with transaction.atomic():
        order = Order.objects.select_for_update().get(pk=payment.order_id)
        unreported = Payment.objects.filter(pk=payment.pk, status=payment.status, closed_at=None)
        unreported.update(last_error=error[:500], found_paid_at=Coalesce("found_paid_at", Now()))
        if not unreported.filter(found_paid_at__lte=Now() - UNREPORTED_AFTER).exists():
            return
        unlisted = Order.objects.filter(pk=order.pk).exclude(attention__in=ATTENTION_TO_DO)
        if unlisted.update(attention=Attention.PAYMENT_UNREPORTED):
            unreported.update(closed_at=Now())
            log.error("payment_unreported", order=str(order.number), payment=str(payment.pk), provider=payment.provider)


def close_page(*, payment: Payment) -> None:
    """Close the page. If a crash lost its reference, ask the provider for the page again to learn it."""
    if not payment.provider_reference:
        try:
            session = provider_choice.provider_named(payment.provider).open_session(payment=payment)
        except ProviderRefused:
            # The provider would have returned an existing page for this payment's id, so there is none to close.
            return
        payment.provider_reference = session.reference
    provider_choice.provider_named(payment.provider).close_session(payment=payment)


def mark_closed(*, payment: Payment) -> None:
    known = {"closed_at": Now(), "provider_reference": payment.provider_reference, "last_error": ""}
    # A closed page takes no payment. If an event about a payment is still on its way, it counts (payments/inbox.py).
    pending = Payment.objects.filter(pk=payment.pk, status=Payment.Status.PENDING)
    if not pending.update(status=Payment.Status.FAILED, **known):
        Payment.objects.filter(pk=payment.pk, closed_at=None).update(**known)
