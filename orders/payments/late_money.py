"""Money for an order that has expired: its units are taken again if the sale allows it, else it goes back. Never both.

`inbox.py` notes the money and commits; what becomes of it is decided here, right after and, where a crash or an absent
store left it open, by a sweep. The reservation store is asked first, since other buyers may have the units by now; then
PostgreSQL, which may still refuse. All of it while the order's row is locked, and repeatable: a hold that was taken
again by a call whose transaction was lost is found `already_restored`.
"""

from enum import StrEnum

import structlog
from django.db import transaction
from django.db.models.functions import Now

from orders import lifecycle, settlement, units_taken
from orders.models import Attention, Order, OrderLine, OrderStatus, Payment
from orders.payments import refunds
from orders.payments.timing import next_attempt
from seckill import ledger
from seckill.ledger_words import ReleaseReason, RestoreAs, Restored
from seckill.models import LatePayment
from seckill.store import StoreUnreachable
from seckill.timestamps import to_ms
from shop import failpoints

log = structlog.get_logger(__name__)

# One transaction each; with the store away, each costs its timeout.
BATCH_MAX = 20

# The store comes back within seconds, and the buyer waits.
WAIT_SECONDS_MAX = 15

# Ten minutes: a store that is away for longer, or a hold that it cannot read, must not keep the money for ever.
ATTEMPTS_MAX = 40


class Decided(StrEnum):
    """What became of late money."""

    NOTHING_TO_DECIDE = "nothing_to_decide"
    UNAVAILABLE = "unavailable"
    KEPT = "kept"
    GOES_BACK = "goes_back"


def settle_waiting(*, batch_max: int = BATCH_MAX) -> int:
    """Decide one batch of the late payments that nobody has decided. Returns how many are decided."""
    waiting = Payment.objects.filter(status=Payment.Status.CAPTURED, next_attempt_at__lte=Now())
    decided = 0
    for order_id in list(waiting.order_by("next_attempt_at").values_list("order_id", flat=True)[:batch_max]):
        if settle_late_payment(order_id=order_id) is Decided.UNAVAILABLE:
            # The store is away, or not verified: it will not be there for the others either.
            break
        decided += 1
    return decided


def settle_late_payment(*, order_id: int) -> Decided:
    """Take the units of an expired order again, for which money has come, or owe the money back."""
    with transaction.atomic():
        order = Order.objects.select_for_update().get(pk=order_id)
        payment = Payment.objects.filter(order=order, status=Payment.Status.CAPTURED).first()
        if payment is None:
            return Decided.NOTHING_TO_DECIDE
        if order.status != OrderStatus.EXPIRED:
            Payment.objects.filter(pk=payment.pk).update(next_attempt_at=None)
            return Decided.NOTHING_TO_DECIDE
        word = take_again(order=order)
        failpoints.reach("late_payment.after_restore")
        attempts = payment.attempts + 1
        if word is Decided.UNAVAILABLE and attempts < ATTEMPTS_MAX:
            soon = next_attempt(attempts=attempts, wait_seconds_max=WAIT_SECONDS_MAX)
            Payment.objects.filter(pk=payment.pk).update(attempts=attempts, next_attempt_at=soon)
            return word
        if word is Decided.KEPT:
            Payment.objects.filter(pk=payment.pk).update(next_attempt_at=None, attempts=0)
            lifecycle.mark_paid_late(order)
        else:
            word = Decided.GOES_BACK
            refunds.owe_back(order=order, payment=payment, attention=Attention.LATE_PAYMENT_REFUNDED)
    settlement.settle_now([order_id])
    return word


def take_again(*, order: Order) -> Decided:
    """Both stores have the order's units again, or neither will."""
    lines = list(OrderLine.objects.filter(order=order).select_related("sale_item__sale"))
    line = lines[0] if len(lines) == 1 else None
    if line is None or line.sale_item is None or order.reservation_id is None:
        return Decided.GOES_BACK
    if line.sale_item.sale.late_payment != LatePayment.TAKE_AGAIN:
        return Decided.GOES_BACK
    word = restore(order=order, item_id=line.sale_item.pk, units=line.units)
    if word is Decided.KEPT and not units_taken.take(item_id=line.sale_item.pk, units=line.units):
        # The store had units that PostgreSQL has not: the hold is released again with the order's refund.
        log.error("late_payment_refused_by_database", item_id=line.sale_item.pk, order=str(order.number))
        return Decided.GOES_BACK
    return word


def restore(*, order: Order, item_id: int, units: int) -> Decided:
    """Ask the reservation store for the units."""
    assert order.reservation_id is not None
    try:
        if order.settled_at is None:
            # The end was not told yet, so the hold may stand; told now, nobody can release it after it was taken again.
            reason = ReleaseReason.EXPIRED
            ledger.release(item_id=item_id, reservation_ids=[order.reservation_id], reason=reason)
        word = ledger.restore(
            item_id=item_id,
            reservation_id=order.reservation_id,
            buyer_id=order.buyer_id,
            units=units,
            deadline_ms=to_ms(order.expires_at),
            state=RestoreAs.LATE_PAYMENT,
        )
    except StoreUnreachable as error:
        log.warning("late_payment_waits_for_store", item_id=item_id, error=str(error))
        return Decided.UNAVAILABLE
    if word is Restored.UNAVAILABLE:
        return Decided.UNAVAILABLE
    taken = word in (Restored.RESTORED, Restored.ALREADY_RESTORED)
    return Decided.KEPT if taken else Decided.GOES_BACK
