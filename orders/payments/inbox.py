"""The inbox of payment events: each event is stored and applied once, in one transaction that locks the order.

Events may arrive twice, late, early and out of order. Twice: the event id is unique. Early: an event whose payment row
does not exist yet waits in the inbox until a sweep can apply it. Lost: a payment is committed before its provider hears
of it, so if the row does not come, it was lost with a backup that was restored. Then it is made again from the event,
which names the order and its reservation; while the order is missing too, the event waits for it, until staff have
dealt with it. If it only says that a page ended unpaid, it is put away after an hour. Out of order: once a payment is
captured, only a refund changes that; an event about its page (declined, expired) that arrives later has no effect. A
refund that arrives before the capture waits for it; after an hour staff hear of it, and a capture that comes even later
still makes it count.
"""

import time
from datetime import timedelta
from enum import StrEnum

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from orders.life import lifecycle, settlement
from orders.life.attention import give_reason, is_over, is_told_refund, payment_came
from orders.models import SOLD, Attention, Order, OrderStatus, Payment, PaymentEvent
from orders.payments import late_money, refunds
from orders.payments.provider.interface import Event, EventKind
from orders.units import one_for_each
from orders.units.lost_payments import sold_in_the_store
from shop import failpoints
from shop.background.outages import AWAY

log = structlog.get_logger(__name__)

# Events applied by one sweep, each in a transaction of its own.
BATCH_MAX = 100
# A payment's row that has not come by then was lost: it is committed before the provider is called.
LOST_AFTER = timedelta(seconds=20)
# A refund whose capture has not come by then is listed for staff. Events of one payment come within minutes.
GIVEN_UP_AFTER = timedelta(hours=1)

# Events at which something raised in this process, and when each is tried again, by the monotonic clock.
BROKEN_SECONDS = 60.0
_try_again_s: dict[int, float] = {}

NOT_CAPTURED = (Payment.Status.PENDING, Payment.Status.FAILED)
PAGE_ENDS = (EventKind.DECLINED, EventKind.EXPIRED)
OF_REFUNDS = (EventKind.REFUNDED, EventKind.REFUNDED_SO_FAR, EventKind.REFUND_PAID, EventKind.REFUND_FAILED)

# Events whose payment was lost and can be made again. An order that was brought back from the reservation store has
# another number: then the reservation names it. If the page belongs to another payment, the event contradicts itself.
LOST = (
    Q(kind=EventKind.CAPTURED, received_at__lte=Now() - LOST_AFTER)
    & Q(
        Exists(Order.objects.filter(reservation_id=OuterRef("reservation_id")))
        | Q(Exists(Order.objects.filter(number=OuterRef("order_number"))), reservation_id=None)
    )
    & ~Exists(
        Payment.objects.exclude(provider_reference="").filter(
            provider=OuterRef("provider"), provider_reference=OuterRef("provider_reference")
        )
    )
)
OF_A_PAYMENT = Exists(Payment.objects.filter(pk=OuterRef("payment_id")))
BEFORE_CAPTURE = Q(
    Exists(Payment.objects.filter(pk=OuterRef("payment_id"), status__in=NOT_CAPTURED)), kind__in=OF_REFUNDS
)
GIVEN_UP = Q(received_at__lte=Now() - GIVEN_UP_AFTER)
# Events of a payment that the shop does not know, of which nothing has to be done: its page ended unpaid, or staff have
# dealt with its money. Two shops with one account at the company hear of each other's payments.
IS_DEALT_WITH = Exists(PaymentEvent.objects.filter(payment_id=OuterRef("payment_id"), outcome="dealt_with"))
FORGOTTEN = Q(~OF_A_PAYMENT) & (Q(GIVEN_UP, kind__in=PAGE_ENDS) | Q(IS_DEALT_WITH, kind__in=OF_REFUNDS))
CAN_BE_APPLIED = LOST | FORGOTTEN | (Q(OF_A_PAYMENT) & (~BEFORE_CAPTURE | GIVEN_UP))
# Only a person can end the wait of these.
FOR_STAFF = Q(~OF_A_PAYMENT) & GIVEN_UP & ~LOST & Q(applied_at=None)


class EventOutcome(StrEnum):
    """The effect of an event."""

    DUPLICATE = "duplicate"
    WAITING = "waiting"
    NOTHING = "nothing"
    PAID = "paid"
    PAID_TWICE = "paid_twice"
    AMOUNT_DIFFERS = "amount_differs"
    ONE_EACH = "one_each"
    LATE = "late"
    REFUND_STARTED = "refund_started"
    FAILED = "failed"
    REFUNDED = "refunded"
    REFUND_FAILS = "refund_fails"
    NO_CAPTURE = "no_capture"
    DEALT_WITH = "dealt_with"


def receive(*, provider_name: str, event: Event) -> EventOutcome:
    """Store an event and apply it, once. When this returns, it is committed and the provider may get its 2xx."""
    with transaction.atomic():
        received = PaymentEvent(
            provider=provider_name,
            event_id=event.event_id,
            kind=event.kind,
            payment_id=event.payment_id,
            provider_reference=event.provider_reference,
            reservation_id=event.reservation_id,
            order_number=event.order_number,
            refund_id=event.refund_id,
            amount_minor=event.amount_minor,
            part_minor=event.part_minor,
            currency=event.currency,
            card_mark=one_for_each.mark_of_card(event.card) if event.card else "",
            happened_at=event.happened_at,
        )
        # If another transaction is inserting the same event, this waits for it; its row is then the one that is locked.
        PaymentEvent.objects.bulk_create([received], ignore_conflicts=True)
        row = PaymentEvent.objects.select_for_update().get(provider=provider_name, event_id=event.event_id)
        if row.applied_at is not None:
            return EventOutcome.DUPLICATE
        outcome = apply_event(row)
        failpoints.reach("payments.before_commit")
    failpoints.reach("payments.after_commit")
    settle_after_commit(row, outcome)
    return outcome


def apply_waiting(*, batch_max: int = BATCH_MAX) -> int:
    """Apply one batch of the events whose wait is over. Returns how many. Cheap if nothing waits.

    Those that go on waiting are not in the batch, so that they keep no other event from it. An event that raises is
    logged, stops no other, and is tried again after a minute.
    """
    waiting = PaymentEvent.objects.filter(CAN_BE_APPLIED, applied_at=None).order_by("received_at")
    count = 0
    resting = [pk for pk, try_again_s in _try_again_s.items() if try_again_s > time.monotonic()]
    for pk in list(waiting.exclude(pk__in=resting).values_list("pk", flat=True)[:batch_max]):
        try:
            count += apply_one(pk)
        except AWAY:
            raise
        except Exception:
            _try_again_s[pk] = time.monotonic() + BROKEN_SECONDS
            log.exception("payment_event_not_applied", event_pk=pk)
        else:
            _try_again_s.pop(pk, None)
    return count


def apply_one(pk: int) -> bool:
    with transaction.atomic():
        row = PaymentEvent.objects.select_for_update(skip_locked=True).filter(pk=pk, applied_at=None).first()
        if row is None:
            return False
        outcome = apply_event(row)
    settle_after_commit(row, outcome)
    return outcome is not EventOutcome.WAITING


def backlog() -> int:
    """How many events can be applied and are not. Those that wait for something else hold nobody up."""
    return PaymentEvent.objects.filter(CAN_BE_APPLIED, applied_at=None).count()


def mark_dealt_with(pk: int) -> bool:
    """Staff have found out about an event whose payment the shop does not know. False if it may still be applied."""
    waiting = PaymentEvent.objects.filter(FOR_STAFF, pk=pk)
    return waiting.update(applied_at=Now(), outcome=EventOutcome.DEALT_WITH) == 1


def settle_after_commit(row: PaymentEvent, outcome: EventOutcome) -> None:
    """Do what needs the reservation store. After a crash before this, and after refunds, the sweeps do it."""
    if outcome not in (EventOutcome.PAID, EventOutcome.LATE, EventOutcome.REFUND_STARTED):
        return
    order_id = Payment.objects.values_list("order_id", flat=True).get(pk=row.payment_id)
    if outcome is EventOutcome.LATE:
        late_money.settle_late_payment(order_id=order_id)
    else:
        settlement.settle_now([order_id])


def apply_event(row: PaymentEvent) -> EventOutcome:
    """Apply a locked event, in its transaction, unless it has to wait for its payment, or for the payment's capture."""
    known = Payment.objects.filter(pk=row.payment_id).first() or lost_payment(row)
    if known is None:
        if not PaymentEvent.objects.filter(FORGOTTEN, pk=row.pk).exists():
            return EventOutcome.WAITING
        return note_applied(row, EventOutcome.NOTHING)
    order = Order.objects.select_for_update().get(pk=known.order_id)
    # Read again after locking the order: each change of a payment locks its order first.
    payment = Payment.objects.get(pk=row.payment_id)
    outcome = EventOutcome.NOTHING
    if payment.provider != row.provider:
        log.error("event_of_another_provider", provider=row.provider, payment=str(payment.pk))
    elif row.kind in OF_REFUNDS and payment.status in NOT_CAPTURED:
        if not PaymentEvent.objects.filter(GIVEN_UP, pk=row.pk).exists():
            return EventOutcome.WAITING
        outcome = give_up(order=order, payment=payment, row=row)
    elif row.kind == EventKind.CAPTURED:
        outcome = record_capture(order=order, payment=payment, row=row)
    elif row.kind in PAGE_ENDS:
        outcome = record_page_end(payment=payment)
    elif row.kind == EventKind.REFUNDED:
        is_new = refunds.note_all(order=order, payment=payment, part_minor=row.part_minor)
        outcome = EventOutcome.REFUNDED if is_new else EventOutcome.NOTHING
    elif row.kind == EventKind.REFUNDED_SO_FAR:
        is_new = refunds.note_total(
            order=order,
            payment=payment,
            total_minor=row.amount_minor,
            part_minor=row.part_minor,
            happened_at=row.happened_at,
        )
        outcome = EventOutcome.REFUNDED if is_new else EventOutcome.NOTHING
    elif row.kind in (EventKind.REFUND_PAID, EventKind.REFUND_FAILED):
        outcome = record_one_refund(order=order, payment=payment, row=row)
    return note_applied(row, outcome)


def note_applied(row: PaymentEvent, outcome: EventOutcome) -> EventOutcome:
    row.applied_at, row.outcome = Now(), outcome.value
    row.save(update_fields=["applied_at", "outcome"])
    return outcome


def give_up(*, order: Order, payment: Payment, row: PaymentEvent) -> EventOutcome:
    """No capture has come for a refund: staff have to find out why. Another reason that they must act on stays.

    Staff who have resolved an unreported payment were told to refund it, so only a failure of that refund is listed.
    """
    if is_told_refund(row, payment):
        is_over(order, Attention.REFUND_WITHOUT_PAYMENT)
        return EventOutcome.NO_CAPTURE
    log.error("refund_without_capture", order=str(order.number), payment=str(row.payment_id), event_id=row.event_id)
    give_reason(order, Attention.REFUND_WITHOUT_PAYMENT)
    return EventOutcome.NO_CAPTURE


def take_up_again(*, payment: Payment) -> None:
    """The capture came after all: the sweep applies the refunds that were given up."""
    given_up = PaymentEvent.objects.filter(payment_id=payment.pk, outcome=EventOutcome.NO_CAPTURE)
    given_up.update(applied_at=None, outcome="")


def lost_payment(row: PaymentEvent) -> Payment | None:
    """The payment of the event, made again. None if it may still come, or there is no order for it.

    An event that captures nothing waits for one that does.
    """
    if not PaymentEvent.objects.filter(LOST, pk=row.pk).exists():
        return None
    named = Q(reservation_id=row.reservation_id) if row.reservation_id else Q(number=row.order_number)
    order = Order.objects.select_for_update().filter(named).first()
    if order is None:
        return None
    payment, is_new = Payment.objects.get_or_create(
        pk=row.payment_id,
        defaults={
            "order": order,
            "provider": row.provider,
            "provider_reference": row.provider_reference,
            "idempotency_key": f"lost-{row.payment_id}",
            # Beside it there may be a payment with a page that was opened since.
            "status": Payment.Status.FAILED,
            "amount_minor": row.amount_minor,
            "currency": row.currency,
        },
    )
    if is_new:
        log.error("lost_payment_found", order=str(order.number), payment=str(payment.pk), provider=row.provider)
    return payment


def record_capture(*, order: Order, payment: Payment, row: PaymentEvent) -> EventOutcome:
    """The provider captured the payment. An order that still awaits payment is paid, even after its deadline: its units
    are held until it is expired.
    """
    if payment.status not in NOT_CAPTURED:
        return EventOutcome.NOTHING
    if not payment.provider_reference:
        payment.provider_reference = row.provider_reference
        Payment.objects.filter(pk=payment.pk).update(provider_reference=row.provider_reference)
    is_right = (row.amount_minor, row.currency) == (order.amount_minor, order.currency)
    take_up_again(payment=payment)
    # Asked before the reason goes that tells of a lost payment.
    is_blocked = order.status == OrderStatus.AWAITING_PAYMENT and must_not_buy(order)
    payment_came(order, payment, is_right=is_right)
    if not is_right:
        log.error("amount_differs", order=str(order.number), amount_minor=row.amount_minor, currency=row.currency)
        payment.amount_minor, payment.currency = row.amount_minor, row.currency
        payment.save(update_fields=["amount_minor", "currency"])
        refunds.start_refund(order=order, payment=payment, attention=Attention.AMOUNT_DIFFERS)
        return EventOutcome.AMOUNT_DIFFERS
    if is_blocked:
        # A block ends such orders after its commit, so a crash can leave them; or this event is faster.
        lifecycle.end_unpaid(order_ids=[order.pk], status=OrderStatus.CANCELLED)
        order.refresh_from_db(fields=["status"])
    if order.status == OrderStatus.AWAITING_PAYMENT:
        if not one_for_each.claim_with_money(order, card_mark=row.card_mark):
            return refund_second_purchase(order=order, payment=payment)
        mark_captured(payment=payment, decide_late=False)
        lifecycle.mark_paid(order)
        return EventOutcome.PAID
    captured_before = Payment.objects.filter(order=order, status=Payment.Status.CAPTURED).exists()
    if order.status in SOLD or captured_before:
        refunds.start_refund(order=order, payment=payment, attention=Attention.PAID_TWICE)
        return EventOutcome.PAID_TWICE
    if order.status == OrderStatus.EXPIRED:
        if not one_for_each.claim_with_money(order, card_mark=row.card_mark):
            return refund_second_purchase(order=order, payment=payment)
        mark_captured(payment=payment, decide_late=True)
        return EventOutcome.LATE
    refunds.start_refund(order=order, payment=payment, attention=Attention.LATE_PAYMENT_REFUNDED)
    return EventOutcome.REFUND_STARTED


def must_not_buy(order: Order) -> bool:
    """Whether the buyer's account was blocked. What was paid before is theirs, also if that payment was lost since."""
    if order.buyer is None or order.buyer.is_active:
        return False
    return not sold_in_the_store(reservation_ids=[order.reservation_id])


def refund_second_purchase(*, order: Order, payment: Payment) -> EventOutcome:
    """The address or the card had its purchase. An order that awaits payment goes on: another card can pay it."""
    refunds.start_refund(order=order, payment=payment, attention=Attention.ONE_EACH)
    return EventOutcome.ONE_EACH


def mark_captured(*, payment: Payment, decide_late: bool) -> None:
    """Mark the payment as captured. A second page that was opened since is superseded; the sweep closes it."""
    superseded = Payment.objects.filter(order_id=payment.order_id, status=Payment.Status.PENDING)
    superseded.exclude(pk=payment.pk).update(status=Payment.Status.FAILED)
    Payment.objects.filter(pk=payment.pk).update(
        status=Payment.Status.CAPTURED,
        captured_at=Now(),
        attempts=0,
        next_attempt_at=Now() if decide_late else None,
        last_error="",
    )


def record_page_end(*, payment: Payment) -> EventOutcome:
    """The payment page ended without a payment. The order awaits payment until its own deadline."""
    pending = Payment.objects.filter(pk=payment.pk, status=Payment.Status.PENDING)
    if pending.update(status=Payment.Status.FAILED, closed_at=Now()):
        return EventOutcome.FAILED
    Payment.objects.filter(pk=payment.pk, status=Payment.Status.FAILED, closed_at=None).update(closed_at=Now())
    return EventOutcome.NOTHING


def record_one_refund(*, order: Order, payment: Payment, row: PaymentEvent) -> EventOutcome:
    """One refund is done, or has failed, sometimes after the provider had already reported success.

    The event names one of ours, or has the provider's reference of one that was made on its site.
    """
    if row.refund_id is None and row.provider_reference:
        failed = refunds.fail_on_site(
            order=order, payment=payment, amount_minor=row.amount_minor, reference=row.provider_reference
        )
        return EventOutcome.REFUND_FAILS if failed else EventOutcome.NOTHING
    refund = refunds.find_refund(refund_id=row.refund_id, order=order, payment=payment, amount_minor=row.amount_minor)
    if refund is None:
        return EventOutcome.NOTHING
    if row.kind == EventKind.REFUND_PAID:
        refunds.keep_to_amount(refund_id=refund.pk, paid_minor=row.amount_minor)
        return EventOutcome.REFUNDED if refunds.finish(refund_id=refund.pk) else EventOutcome.NOTHING
    failed = refunds.fail(refund_id=refund.pk, error="the provider reports that the refund failed")
    return EventOutcome.REFUND_FAILS if failed else EventOutcome.NOTHING
