"""Refunds: started, requested from the provider until it confirms, each once. All kinds take this way.

The row is committed before the provider is called, and its id is what the provider knows the refund by. So a call that
is repeated after a crash or a timeout pays nothing twice. A payment stays `captured` while the shop keeps some of it;
`refund_due` says that all of it has to go back, and that its refunds are asked for until they are paid. Each function
that changes a refund locks its order first.
"""

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Sum
from django.db.models.functions import Coalesce, Now

from orders.invoices.writing import write_note
from orders.life import lifecycle
from orders.life.attention import give_reason, is_over, resolved_at
from orders.models import BY_HAND, ENDED_UNPAID, Attention, Order, Payment, PaymentEvent, Refund
from orders.payments import provider_choice
from orders.payments.provider.interface import EventKind, ProviderRefused, ProviderUnreachable, RefundAnswer
from orders.payments.provider.timing import SWEEP_SECONDS, claim_attempt
from orders.refund_records import add_refund
from seckill.items.loop import until
from shop import failpoints

log = structlog.get_logger(__name__)

BATCH_MAX = 20

# After this many failed attempts a person should look at the order.
ATTEMPTS_BEFORE_ATTENTION = 5

# Refunds that the provider had accepted: it answered, or has sent an event about them. Its sum may have counted them.
OF_THIS_REFUND = PaymentEvent.objects.filter(payment_id=OuterRef("payment_id"), refund_id=OuterRef("pk"))
ACCEPTED = Q(~Q(provider_reference="") | Exists(OF_THIS_REFUND))


def start_refund(*, order: Order, payment: Payment, attention: Attention) -> None:
    """Give back all of a payment that the order does not take, and say why a person may want to look.

    The caller has locked the order. An order that ended unpaid becomes `refund_due` too; any other keeps its status.
    """
    Payment.objects.filter(pk=payment.pk).update(
        status=Payment.Status.REFUND_DUE,
        captured_at=payment.captured_at or Now(),
        attempts=0,
        next_attempt_at=None,
        last_error="",
    )
    give_reason(order, attention)
    lifecycle.mark_refund_due(order)
    set_aside(order=order, payment=payment)
    rest_minor = payment.amount_minor - going_back_minor(payment)
    add_refund(order=order, payment=payment, amount_minor=rest_minor, is_surplus=True)
    close(order=order, payment=payment)


def set_aside(*, order: Order, payment: Payment) -> None:
    """The order does not take the payment: the parts of it that went back before that was decided were not its money.

    An order that ended unpaid would get an invoice for them.
    """
    parts = Refund.objects.filter(payment=payment, is_surplus=False).exclude(status=Refund.Status.FAILED)
    parts_minor = parts.aggregate(total=Sum("amount_minor", default=0))["total"]
    if parts_minor:
        parts.update(is_surplus=True)
        Order.objects.filter(pk=order.pk).update(refunded_minor=F("refunded_minor") - parts_minor)


def going_back_minor(payment: Payment) -> int:
    """How much of the payment is refunded, or will be."""
    going = Refund.objects.filter(payment=payment).exclude(status=Refund.Status.FAILED)
    total: int = going.aggregate(total=Sum("amount_minor", default=0))["total"]
    return total


# --- The sweep that asks the providers ---


def request_due_refunds() -> int:
    """Ask the providers for one batch of due refunds. Returns how many are done. Staff pay theirs themselves."""
    due = Refund.objects.filter(status=Refund.Status.DUE, next_attempt_at__lte=Now())
    batch = due.select_related("payment__order").order_by("next_attempt_at")[:BATCH_MAX]
    return sum(request_refund(refund=refund) for refund in until(time.monotonic() + SWEEP_SECONDS, batch))


def request_refund(*, refund: Refund) -> bool:
    """Ask the provider once. True if the refund is done."""
    assert refund.payment is not None
    due = Refund.objects.filter(pk=refund.pk, status=Refund.Status.DUE)
    if not claim_attempt(due, attempts_before=refund.attempts):
        return False
    attempts = refund.attempts + 1
    try:
        given = provider_choice.provider_named(refund.payment.provider).refund(refund=refund)
    except ProviderRefused as error:
        record_failed_request(refund=refund, attempts=attempts, error=str(error), is_refused=True)
        return False
    except ProviderUnreachable as error:
        record_failed_request(refund=refund, attempts=attempts, error=str(error), is_refused=False)
        return False
    failpoints.reach("refund.after_provider")
    Refund.objects.filter(pk=refund.pk).update(provider_reference=given.reference)
    # An event may have been faster, and have said that it failed.
    due.filter(failing_since=refund.failing_since).update(last_error="", failing_since=None)
    if given.amount_minor is not None:
        keep_to_amount(refund_id=refund.pk, paid_minor=given.amount_minor)
    return given.answer is RefundAnswer.DONE and finish(refund_id=refund.pk)


def record_failed_request(*, refund: Refund, attempts: int, error: str, is_refused: bool) -> None:
    """No answer, or a refusal. Where staff can choose another amount, a refusal that is repeated is final."""
    assert refund.payment is not None
    log.warning(
        "refund_failed", refund=str(refund.pk), provider=refund.payment.provider, attempts=attempts, error=error
    )
    if is_refused and attempts >= ATTEMPTS_BEFORE_ATTENTION and refund.payment.status != Payment.Status.REFUND_DUE:
        fail(refund_id=refund.pk, error=error)
        return
    due = Refund.objects.filter(pk=refund.pk, status=Refund.Status.DUE)
    if not due.update(last_error=error[:500]) or attempts < ATTEMPTS_BEFORE_ATTENTION:
        return
    with transaction.atomic():
        order = Order.objects.select_for_update().get(pk=refund.order_id)
        if due.update(failing_since=Coalesce("failing_since", Now())):
            refund.refresh_from_db(fields=["failing_since"])
            give_reason(order, Attention.REFUND_FAILS, since=refund.failing_since)


# --- How a refund ends ---


def keep_to_amount(*, refund_id: UUID, paid_minor: int) -> None:
    """The provider pays less than the refund says: the rest had been refunded on its own site, and we had not heard.

    The rest becomes a refund of its own that is done, so that each mail names what the buyer sees in the account.
    """
    with transaction.atomic():
        refund = Refund.objects.get(pk=refund_id)
        order = Order.objects.select_for_update().get(pk=refund.order_id)
        refund.refresh_from_db()
        rest_minor = refund.amount_minor - paid_minor
        if refund.status != Refund.Status.DUE or paid_minor <= 0 or rest_minor <= 0:
            return
        Refund.objects.filter(pk=refund_id).update(amount_minor=paid_minor)
        before = Refund.objects.create(
            order=order,
            payment=refund.payment,
            amount_minor=rest_minor,
            status=Refund.Status.REFUNDED,
            is_surplus=refund.is_surplus,
            ended_at=Now(),
        )
        lifecycle.tell_of_refund(order, before)


def finish(*, refund_id: UUID) -> bool:
    """The provider has paid the refund. Idempotent."""
    with transaction.atomic():
        refund = Refund.objects.get(pk=refund_id)
        order = Order.objects.select_for_update().get(pk=refund.order_id)
        due = Refund.objects.filter(pk=refund_id, status=Refund.Status.DUE)
        ended = {"ended_at": Now(), "next_attempt_at": None, "last_error": "", "failing_since": None}
        if due.update(status=Refund.Status.REFUNDED, **ended) != 1:
            return False
        payment = Payment.objects.get(refunds=refund_id)
        all_goes_back = payment.status == Payment.Status.REFUND_DUE
        may_have_failed = all_goes_back or refund.attempts >= ATTEMPTS_BEFORE_ATTENTION
        if order.attention == Attention.REFUND_FAILS and may_have_failed and not another_fails(order):
            is_over(order, Attention.REFUND_FAILS)
        close(order=order, payment=payment)
        lifecycle.tell_of_refund(order, refund)
    return True


def paid_by_staff(*, refund_ids: Iterable[UUID], order_id: int, reference: str) -> list[Refund]:
    """Staff have paid refunds back themselves. Returns those that waited for it: a repeated call returns none."""
    with transaction.atomic():
        order = Order.objects.select_for_update().get(pk=order_id)
        paid = list(Refund.objects.filter(BY_HAND, order=order, pk__in=list(refund_ids)).select_related("order"))
        ended = {"status": Refund.Status.REFUNDED, "ended_at": Now(), "provider_reference": reference}
        Refund.objects.filter(pk__in=[refund.pk for refund in paid]).update(**ended)
        lifecycle.mark_refunded(order)
        for refund in paid:
            lifecycle.tell_of_refund(order, refund)
    return paid


def close(*, order: Order, payment: Payment) -> None:
    """A payment is refunded once all of its money is, and with it the order that waited for it."""
    if not Refund.objects.filter(payment=payment, status=Refund.Status.DUE).exists():
        back = Payment.objects.filter(pk=payment.pk, status=Payment.Status.REFUND_DUE)
        if going_back_minor(payment) >= payment.amount_minor:
            back = Payment.objects.filter(pk=payment.pk, status__in=("refund_due", "captured"))
        back.update(status=Payment.Status.REFUNDED, next_attempt_at=None)
    lifecycle.mark_refunded(order)


def another_fails(order: Order) -> bool:
    """Whether a person must act on a refund of the order: it fails, or it failed for good and part of the money stays.

    The number of attempts alone does not say so: each question about a refund that the provider has accepted is one.
    False for what staff have resolved.
    """
    fails = Q(attempts__gte=ATTEMPTS_BEFORE_ATTENTION) | Q(payment__status=Payment.Status.REFUND_DUE)
    to_do = Q(fails, status=Refund.Status.DUE) & ~Q(last_error="")
    if order.refunded_minor < order.amount_minor:
        to_do |= Q(status=Refund.Status.FAILED)
    resolved = Q(failing_since__lte=resolved_at(order, Attention.REFUND_FAILS))
    return Refund.objects.filter(to_do, order=order).exclude(resolved).exists()


def fail(*, refund_id: UUID, error: str) -> bool:
    """The provider will not pay the refund, or took it back. Idempotent.

    Staff may refund its amount again. Money that the shop may not keep is asked for again by itself.
    """
    with transaction.atomic():
        refund = Refund.objects.get(pk=refund_id)
        order = Order.objects.select_for_update().get(pk=refund.order_id)
        not_failed = Refund.objects.filter(pk=refund_id).exclude(status=Refund.Status.FAILED)
        payment = Payment.objects.filter(refunds=refund_id)
        if refund.is_surplus or payment.filter(status=Payment.Status.REFUND_DUE).exists():
            # A person has to act first; the sweep tries again tomorrow.
            again = {"ended_at": None, "next_attempt_at": Now() + timedelta(days=1), "last_error": error[:500]}
            not_failed.update(status=Refund.Status.DUE, failing_since=Now(), **again)
            payment.update(status=Payment.Status.REFUND_DUE)
            lifecycle.mark_refund_failed(order, lost_minor=0)
            write_note(refund_id=refund_id)
            return True
        ended = {"ended_at": Now(), "next_attempt_at": None, "last_error": error[:500]}
        if not_failed.update(status=Refund.Status.FAILED, failing_since=Now(), **ended) != 1:
            return False
        payment.filter(status=Payment.Status.REFUNDED).update(status=Payment.Status.CAPTURED)
        lifecycle.mark_refund_failed(order, lost_minor=refund.amount_minor)
        write_note(refund_id=refund_id)
        if not Refund.objects.filter(ACCEPTED, pk=refund_id).exists():
            note_last_total(order=order, payment=payment.get())
    return True


# --- What webhooks report. The caller has locked the order, and the payment was captured. ---


def find_refund(*, refund_id: UUID | None, order: Order, payment: Payment, amount_minor: int) -> Refund | None:
    """The refund that an event names. One that PostgreSQL has lost, with a restored backup, is written down again.

    An event without an id is about the refund of a whole payment that the release before asked for.
    """
    if refund_id is None:
        all_back = payment.status in (Payment.Status.REFUND_DUE, Payment.Status.REFUNDED)
        going = Refund.objects.filter(payment=payment).exclude(status=Refund.Status.FAILED)
        return going.order_by("created_at", "pk").last() if all_back else None
    known = Refund.objects.filter(pk=refund_id).first()
    if known is not None:
        return known if known.payment_id == payment.pk else None
    log.error("lost_refund_found", refund=str(refund_id), order=str(order.number))
    return note(order=order, payment=payment, amount_minor=amount_minor, refund_id=refund_id)


def fail_on_site(*, order: Order, payment: Payment, amount_minor: int, reference: str) -> bool:
    """A refund made on the provider's site, which calls it `reference`, has failed since. False if that is known.

    The shop has it by its amount alone. Where it has none of that amount, a person should look.
    """
    made = Refund.objects.filter(payment=payment)
    if made.filter(provider_reference=reference).exists():
        return False
    done = made.filter(status=Refund.Status.REFUNDED, provider_reference="", amount_minor=amount_minor)
    refund = done.order_by("created_at", "pk").last()
    if refund is None:
        log.error("unknown_refund_failed", order=str(order.number), payment=str(payment.pk), reference=reference)
        give_reason(order, Attention.REFUND_FAILS)
        return True
    Refund.objects.filter(pk=refund.pk).update(provider_reference=reference)
    return fail(refund_id=refund.pk, error="a refund made on the provider's site failed")


def note_total(
    *, order: Order, payment: Payment, total_minor: int, part_minor: int | None, happened_at: datetime
) -> bool:
    """So much of the payment was refunded in all. The amount above our own refunds was refunded on the provider's site.

    False if it is nothing new.
    """
    if payment.status != Payment.Status.CAPTURED:
        return False
    known_minor = known_in_sum(payment, total_minor=total_minor, happened_at=happened_at)
    is_new = False
    for amount_minor in amounts_in(total_minor - known_minor, payment=payment, part_minor=part_minor):
        made = note(order=order, payment=payment, amount_minor=amount_minor)
        is_new |= made is not None and finish(refund_id=made.pk)
    return is_new


def known_in_sum(payment: Payment, *, total_minor: int, happened_at: datetime) -> int:
    """How much of the provider's sum are refunds that the shop has.

    Those of ours that are due count too, so the event may come before or after theirs. So do those that were accepted
    and have failed since: the event may be overtaken by the one that says so.

    One that the provider was not asked for is not in the sum, nor is one without an answer that does not fit into it.
    If the payment has not enough for both amounts, ours will be refused, and until then the sum says nothing new.
    """
    failed = Refund.objects.filter(ACCEPTED, payment=payment, status=Refund.Status.FAILED, ended_at__gt=happened_at)
    failed_since: int = failed.aggregate(total=Sum("amount_minor", default=0))["total"]
    going_minor = going_back_minor(payment)
    unanswered = Refund.objects.filter(payment=payment, status=Refund.Status.DUE).exclude(ACCEPTED)
    known_minor = going_minor + failed_since - sum(unanswered.values_list("amount_minor", flat=True))
    for amount_minor in unanswered.filter(attempts__gt=0).order_by("created_at").values_list("amount_minor", flat=True):
        if known_minor + amount_minor <= total_minor:
            known_minor += amount_minor
    is_too_much = total_minor - known_minor > payment.amount_minor - going_minor
    return going_minor + failed_since if is_too_much else known_minor


def note_last_total(*, order: Order, payment: Payment) -> None:
    """A refund of ours was refused, so the provider's last sum did not count it: it counted one made on its site."""
    applied = PaymentEvent.objects.filter(payment_id=payment.pk, provider=payment.provider, applied_at__isnull=False)
    last = applied.filter(kind=EventKind.REFUNDED_SO_FAR).order_by("happened_at", "pk").last()
    if last is not None:
        note_total(
            order=order,
            payment=payment,
            total_minor=last.amount_minor,
            part_minor=last.part_minor,
            happened_at=last.happened_at,
        )


def amounts_in(missing_minor: int, *, payment: Payment, part_minor: int | None) -> list[int]:
    """The refunds that we have not heard of. `part_minor` is the last one of the sum, where the provider says it.

    If more is missing, the reports of earlier ones are still on their way. They say nothing new then, so that each mail
    names what the buyer sees in the account. The last one may be a refund of ours, which is known.
    """
    if part_minor is None or not 0 < part_minor < missing_minor:
        return [missing_minor]
    if Refund.objects.filter(payment=payment, amount_minor=part_minor).exists():
        return [missing_minor]
    return [missing_minor - part_minor, part_minor]


def note_all(*, order: Order, payment: Payment, part_minor: int | None) -> bool:
    """All of the payment is refunded: what was due is done, and the rest was refunded on the provider's site."""
    if payment.status not in (Payment.Status.REFUND_DUE, Payment.Status.CAPTURED):
        return False
    rest_minor = payment.amount_minor - going_back_minor(payment)
    for amount_minor in amounts_in(rest_minor, payment=payment, part_minor=part_minor):
        note(order=order, payment=payment, amount_minor=amount_minor)
    due = Refund.objects.filter(payment=payment, status=Refund.Status.DUE)
    for refund_id in list(due.order_by("created_at").values_list("pk", flat=True)):
        finish(refund_id=refund_id)
    return True


def note(*, order: Order, payment: Payment, amount_minor: int, refund_id: UUID | None = None) -> Refund | None:
    """Write down a refund that was made outside the shop, at most what is left. None if nothing is.

    A part of a late payment may go back before the shop has decided about it. It counts as the order's money, which it
    is if the order is sold after all. Once all of the payment goes back, the order will not be sold.
    """
    order.refresh_from_db(fields=["refunded_minor", "status"])
    rest_minor = payment.amount_minor - going_back_minor(payment)
    amount_minor = min(amount_minor, rest_minor)
    is_surplus = order.status in ENDED_UNPAID and 0 < amount_minor == rest_minor
    if is_surplus:
        set_aside(order=order, payment=payment)
    else:
        amount_minor = min(amount_minor, order.amount_minor - order.refunded_minor)
    made = add_refund(
        order=order, payment=payment, amount_minor=amount_minor, refund_id=refund_id, is_surplus=is_surplus
    )
    lifecycle.end_if_all_goes_back(order)
    return made
