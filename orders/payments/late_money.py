"""Late payments, for orders that have expired: the order gets its units again, or the payment is refunded. Never both.

`inbox.py` records the payment and commits. This module decides where the money goes: right afterwards, or by a sweep
if a crash or an unreachable store prevented that. The reservation store is asked first, since other buyers may have the
units by now; then PostgreSQL, which may still refuse. All of this happens with the order's row locked, and can be
repeated: if the transaction is lost after the hold was restored, the store answers `already_restored` the next time.
"""

from datetime import timedelta
from enum import StrEnum

import structlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, Sum
from django.db.models.functions import Now

from orders.life import lifecycle, settlement
from orders.models import LIVE, Attention, Order, OrderLine, OrderStatus, Payment
from orders.payments import refunds
from orders.payments.provider.timing import next_attempt
from orders.refund_records import captured_payment
from orders.units import taken
from orders.units.in_stock import move_units
from seckill import ledger
from seckill.ledger_words import Released, ReleaseReason, RestoreAs, Restored
from seckill.models import LatePayment, SaleItem
from seckill.store.client import StoreUnreachable
from shop import failpoints
from shop.background.outages import AWAY
from shop.models import StockChange
from shop.stock.movements import NotEnoughUnits
from shop.times.timestamps import to_ms

log = structlog.get_logger(__name__)

# The lines whose units are in `SaleItem.taken`.
COUNTS_AS_TAKEN = Q(order__status__in=LIVE) | Q(order__units_back=False)

# Late payments decided by one sweep, each in a transaction of its own.
BATCH_MAX = 20

# The longest pause between attempts: the store is usually back within seconds, and the buyer is waiting.
WAIT_SECONDS_MAX = 15

# About ten minutes. If the store is away for longer, or cannot read the hold, the payment is refunded.
ATTEMPTS_MAX = 40

BROKEN_FOR = timedelta(minutes=1)


class LatePaymentOutcome(StrEnum):
    """The decision about a late payment."""

    NOTHING_TO_DECIDE = "nothing_to_decide"
    UNAVAILABLE = "unavailable"
    KEPT = "kept"
    REFUND_STARTED = "refund_started"


def settle_waiting() -> int:
    """Decide one batch of the late payments that are still open. Returns how many were decided.

    One at which something raises is logged, stops no other, and is tried again after a minute.
    """
    waiting = Payment.objects.filter(status=Payment.Status.CAPTURED, next_attempt_at__lte=Now())
    decided = 0
    for order_id in list(waiting.order_by("next_attempt_at").values_list("order_id", flat=True)[:BATCH_MAX]):
        try:
            outcome = settle_late_payment(order_id=order_id)
        except AWAY:
            raise
        except Exception:
            log.exception("late_payment_not_decided", order_pk=order_id)
            waiting.filter(order_id=order_id).update(next_attempt_at=Now() + BROKEN_FOR)
            continue
        if outcome is LatePaymentOutcome.UNAVAILABLE:
            # The store is unreachable or the item not verified; the others would probably only wait as well.
            break
        decided += 1
    return decided


def settle_late_payment(*, order_id: int) -> LatePaymentOutcome:
    """Give a late-paid order its units again, or start the refund. Call it after the capture is committed."""
    with transaction.atomic():
        # The account first, as its deletion does, which leaves a late payment to this decision or waits for it.
        list(User.objects.select_for_update(of=("self",), no_key=True).filter(orders=order_id))
        order = Order.objects.select_for_update().get(pk=order_id)
        payment = captured_payment(order)
        if payment is None:
            return LatePaymentOutcome.NOTHING_TO_DECIDE
        if order.status != OrderStatus.EXPIRED:
            Payment.objects.filter(pk=payment.pk).update(next_attempt_at=None)
            return LatePaymentOutcome.NOTHING_TO_DECIDE
        outcome = reclaim_units(order=order)
        failpoints.reach("late_payment.after_restore")
        attempts = payment.attempts + 1
        if outcome is LatePaymentOutcome.UNAVAILABLE and attempts < ATTEMPTS_MAX:
            soon = next_attempt(attempts=attempts, wait_seconds_max=WAIT_SECONDS_MAX)
            Payment.objects.filter(pk=payment.pk).update(attempts=attempts, next_attempt_at=soon)
            return outcome
        if outcome is LatePaymentOutcome.KEPT:
            Payment.objects.filter(pk=payment.pk).update(next_attempt_at=None, attempts=0)
            lifecycle.mark_paid_late(order)
        else:
            outcome = LatePaymentOutcome.REFUND_STARTED
            refunds.start_refund(order=order, payment=payment, attention=Attention.LATE_PAYMENT_REFUNDED)
    settlement.settle_now([order_id])
    return outcome


def reclaim_units(*, order: Order) -> LatePaymentOutcome:
    """Take the order's units again in both stores.

    If PostgreSQL refuses after the store has agreed, the refund that follows releases the hold again.
    """
    if order.buyer and not order.buyer.is_active:
        # Deleted or blocked since: an order would be sent to nobody, or to somebody who must not buy.
        return LatePaymentOutcome.REFUND_STARTED
    lines = list(OrderLine.objects.filter(order=order).select_related("sale_item__sale"))
    if all(line.sale_item is None for line in lines):
        return reclaim_ordinary(order=order)
    line = lines[0] if len(lines) == 1 else None
    if line is None or line.sale_item is None or order.reservation_id is None:
        return LatePaymentOutcome.REFUND_STARTED
    if line.sale_item.sale.late_payment != LatePayment.TAKE_AGAIN:
        return LatePaymentOutcome.REFUND_STARTED
    if line.sale_item.archived_at:
        return reclaim_archived(order=order, line=line)
    outcome = restore_hold(order=order, item_id=line.sale_item.pk, units=line.units)
    if outcome is LatePaymentOutcome.KEPT and not taken.take(item_id=line.sale_item.pk, units=line.units):
        # The store had units left, but PostgreSQL does not.
        log.error("late_payment_refused_by_database", item_id=line.sale_item.pk, order=str(order.number))
        return LatePaymentOutcome.REFUND_STARTED
    return outcome


def reclaim_ordinary(*, order: Order) -> LatePaymentOutcome:
    """Take the units from the ordinary stock again, all lines or none."""
    try:
        with transaction.atomic():
            move_units(order_ids=[order.pk], kind=StockChange.Kind.SOLD_LATE)
    except NotEnoughUnits:
        return LatePaymentOutcome.REFUND_STARTED
    return LatePaymentOutcome.KEPT


def reclaim_archived(*, order: Order, line: OrderLine) -> LatePaymentOutcome:
    """The item has left the reservation store, so PostgreSQL alone decides whether the buyer may have the units.

    The item's row is locked: an item that is brought back meanwhile is rebuilt after this decision.
    """
    item = SaleItem.objects.select_for_update(no_key=True).get(order_lines=line)
    if item.archived_at is None:
        return LatePaymentOutcome.UNAVAILABLE
    of_buyer = OrderLine.objects.filter(COUNTS_AS_TAKEN, sale_item=item, order__buyer_id=order.buyer_id)
    units_before = of_buyer.aggregate(units=Sum("units", default=0))["units"]
    if units_before + line.units > item.per_buyer_max:
        return LatePaymentOutcome.REFUND_STARTED
    fits = taken.take(item_id=item.pk, units=line.units)
    return LatePaymentOutcome.KEPT if fits else LatePaymentOutcome.REFUND_STARTED


def restore_hold(*, order: Order, item_id: int, units: int) -> LatePaymentOutcome:
    """Restore the order's hold as sold, if the reservation store has units left."""
    assert order.reservation_id is not None
    try:
        if order.settled_at is None:
            # The store was not told yet that the order expired. Release the hold now: otherwise the sweep that settles
            # the order could release it after it was restored.
            reason = ReleaseReason.EXPIRED
            released = ledger.release(item_id=item_id, reservation_ids=[order.reservation_id], reason=reason)
            if Released.UNAVAILABLE in released:
                return LatePaymentOutcome.UNAVAILABLE
        answer = ledger.restore(
            item_id=item_id,
            reservation_id=order.reservation_id,
            buyer_id=order.reserved_by,
            units=units,
            deadline_ms=to_ms(order.expires_at),
            state=RestoreAs.LATE_PAYMENT,
        )
    except StoreUnreachable as error:
        log.warning("late_payment_waits_for_store", item_id=item_id, error=str(error))
        return LatePaymentOutcome.UNAVAILABLE
    if answer is Restored.UNAVAILABLE:
        return LatePaymentOutcome.UNAVAILABLE
    restored = answer in (Restored.RESTORED, Restored.ALREADY_RESTORED)
    return LatePaymentOutcome.KEPT if restored else LatePaymentOutcome.REFUND_STARTED
