"""The life of an order: every change of `Order.status`, after intake has inserted the order, is written here.

The status changes by a guarded update, in the transaction that also moves the units (`SaleItem.taken`, or the ordinary
stock) and queues the mail. Of several processes only the one whose update succeeds goes on: after the commit it settles
the order with the reservation store (`orders/life/settlement.py`). A sweep repeats what a crash left undone. Payments
that a provider reports come through `orders/payments/inbox.py`, which calls the second half of this module.

Deadlines are compared with PostgreSQL's clock, and it says when an order ended: a worker whose own clock is wrong must
not expire orders early, nor change for how long a buyer seems to have held units (orders/life/ended_unpaid.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from uuid import UUID, uuid4

import structlog
from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

from orders.invoices.writing import write_invoice, write_note
from orders.life import ended_unpaid
from orders.life.attention import give_reason
from orders.life.settlement import settle_now
from orders.mails import sending
from orders.models import ENDED_UNPAID, SOLD, Attention, Mail, Order, OrderStatus, Payment, Refund
from orders.refund_records import RefundRequest, captured_payment, record, refundable_minor, units_left
from orders.units.in_stock import move_units
from orders.units.lost_payments import sold_in_the_store
from orders.units.one_for_each import Claim, claim_address
from orders.units.taken import give_back
from shop.models import StockChange

log = structlog.get_logger(__name__)

# One batch of a sweep: long enough to share the cost of a commit, short enough not to hold row locks for long.
BATCH_MAX = 500
# Of orders that await payment.
OVERDUE = Q(expires_at__lte=Now())

# Once an order is paid or has ended, staff need not look for its payment any more.
PAYMENT_FOUND = Case(When(attention=Attention.PAYMENT_LOST, then=Value("")), default=F("attention"))


def nothing_more() -> None:
    """The default of `on_done`, which is called in the transaction of a change: what it writes is kept exactly then."""


def pay(*, order_id: int, amount_minor: int | None = None, on_done: Callable[[], object] = nothing_more) -> bool:
    """Record a payment that staff received. False if the order is not awaiting payment, its deadline has passed, it no
    longer costs `amount_minor`, where that is given, or its sale asks for an address that is free, and it has none.

    Deadline and address do not matter where the store has the units as sold: the order was paid before PostgreSQL was
    restored from a backup.
    """
    reservation_ids = Order.objects.filter(pk=order_id).values_list("reservation_id", flat=True)
    paid_before = sold_in_the_store(reservation_ids=reservation_ids)
    with transaction.atomic():
        waiting = Order.objects.filter(pk=order_id, status=OrderStatus.AWAITING_PAYMENT)
        if not paid_before:
            waiting = waiting.filter(expires_at__gt=Now())
        order = waiting.select_for_update().first()
        if order is None or amount_minor not in (None, order.amount_minor):
            return False
        if claim_address(order) is not Claim.GRANTED and not paid_before:
            return False
        paid = {"status": OrderStatus.PAID, "ended_at": Now(), "attention": PAYMENT_FOUND}
        Order.objects.filter(pk=order_id).update(**paid)
        move_units(order_ids=[order_id], kind=StockChange.Kind.SOLD)
        write_invoice(order_id=order_id)
        sending.enqueue(order_ids=[order_id], kind=Mail.Kind.PAID)
        on_done()
    settle_now([order_id])
    return True


def ship(
    *, order_id: int, carrier: str = "", tracking_number: str = "", on_done: Callable[[], object] = nothing_more
) -> bool:
    """The goods of a paid order have left. The buyer hears of it by mail. False if the order is not paid."""
    with transaction.atomic():
        if ship_all(parcels={order_id: {"carrier": carrier, "tracking_number": tracking_number}}):
            return False
        on_done()
    return True


def ship_all(*, parcels: Mapping[int, Mapping[str, str]]) -> set[int]:
    """Mark orders as shipped, each with its `carrier` and `tracking_number`, by a few statements for all of them.

    All or none: returns those that are not paid, and changes nothing then.
    """
    with transaction.atomic():
        paid = Order.objects.select_for_update(no_key=True).filter(pk__in=parcels, status=OrderStatus.PAID)
        orders = list(paid.order_by("pk"))
        if refused := parcels.keys() - {order.pk for order in orders}:
            return refused
        for order in orders:
            order.status, order.shipped_at = OrderStatus.SHIPPED, Now()
            order.carrier = parcels[order.pk]["carrier"].strip()
            order.tracking_number = parcels[order.pk]["tracking_number"].strip()
        columns = ["status", "carrier", "tracking_number", "shipped_at"]
        Order.objects.bulk_update(orders, columns, batch_size=BATCH_MAX)
        sending.enqueue(order_ids=parcels, kind=Mail.Kind.SHIPPED)
    return set()


def correct_tracking(*, order_id: int, carrier: str | None, tracking_number: str | None) -> bool:
    """Replace carrier and tracking number of goods that have left; None keeps what is there. False if they have not.

    The buyer gets a mail about a number that is new, and none where nothing was changed.
    """
    entered = {"carrier": carrier, "tracking_number": tracking_number}
    with transaction.atomic():
        shipped = Order.objects.select_for_update(no_key=True, of=("self",)).filter(shipped_at__isnull=False)
        order = shipped.select_related("buyer").filter(pk=order_id).first()
        if order is None:
            return False
        before = {"carrier": order.carrier, "tracking_number": order.tracking_number}
        parcel = before | {name: text.strip() for name, text in entered.items() if text is not None}
        Order.objects.filter(pk=order_id).update(**parcel)
        if parcel != before and parcel["tracking_number"]:
            sending.enqueue_tracking(order=order)
    return True


def complete(*, order_id: int, on_done: Callable[[], object] = nothing_more) -> bool:
    """Mark a shipped order as completed: the buyer has received it. False if it is not shipped."""
    with transaction.atomic():
        shipped = Order.objects.filter(pk=order_id, status=OrderStatus.SHIPPED)
        if not shipped.update(status=OrderStatus.COMPLETED):
            return False
        on_done()
    return True


def cancel(*, order_id: int, on_done: Callable[[], object] = nothing_more) -> bool:
    """Cancel an unpaid order and put its units back on sale. False if it is not awaiting payment."""
    with transaction.atomic():
        if not end_unpaid(order_ids=[order_id], status=OrderStatus.CANCELLED, wait=True):
            return False
        on_done()
    settle_now([order_id])
    return True


class RefundOutcome(StrEnum):
    """The result of a refund that staff asked for, in the order of the checks."""

    REPEATED = "repeated"
    NOT_REFUNDABLE = "not_refundable"
    WRONG_AMOUNT = "wrong_amount"
    TOO_MANY_UNITS = "too_many_units"
    ABOVE_BOUND = "above_bound"
    STARTED = "started"


def refund(
    *,
    order_id: int,
    units_back: bool,
    reason: str = "",
    made_by: User | None = None,
    refund_id: UUID | None = None,
    amount_minor: int | None = None,
    on_done: Callable[[], object] = nothing_more,
) -> bool:
    """Refund all that is left of a paid, shipped or completed order. False if it is none of these.

    False also if no longer just `amount_minor` is left, where that is given.

    The order is `refund_due` until the provider confirms or, where staff recorded the payment, until they have paid
    the money back themselves (`orders/payments/refunds.py`). With `units_back` the units go back on sale now; without
    it they stay sold, for goods that cannot be sold again.
    """
    with transaction.atomic():
        order = Order.objects.select_for_update().filter(pk=order_id, status__in=SOLD).first()
        if order is None:
            return False
        left_minor = order.amount_minor - order.refunded_minor
        if amount_minor not in (None, left_minor):
            return False
        payment = captured_payment(order)
        request = RefundRequest(
            refund_id=refund_id or uuid4(),
            amount_minor=left_minor,
            units_of_line=units_left(order),
            units_back=units_back,
            reason=reason,
            made_by=made_by,
        )
        made = record(order=order, payment=payment, request=request)
        if payment and made.amount_minor == payment.amount_minor:
            # All of it goes back, so it is asked for until it is paid.
            Payment.objects.filter(pk=payment.pk).update(status=Payment.Status.REFUND_DUE, next_attempt_at=None)
        end_with_refund(order, is_due=True, units_back=units_back)
        on_done()
    settle_now([order_id])
    return True


def refund_amount(
    *,
    order_id: int,
    request: RefundRequest,
    bound_minor: int | None = None,
    on_done: Callable[[], object] = nothing_more,
) -> RefundOutcome:
    """Refund an amount of a paid, shipped or completed order, which keeps its status while some money is left.

    The last of the money ends the order. Units of a flash sale stay sold; `units_back` is about ordinary ones. No more
    than `bound_minor` is refunded of the order in all, where it is given.
    """
    with transaction.atomic():
        order = Order.objects.select_for_update().get(pk=order_id)
        if Refund.objects.filter(pk=request.refund_id).exists():
            return RefundOutcome.REPEATED
        payment = captured_payment(order)
        left_minor = refundable_minor(order, payment)
        if not left_minor:
            return RefundOutcome.NOT_REFUNDABLE
        if not 0 < request.amount_minor <= left_minor:
            return RefundOutcome.WRONG_AMOUNT
        lines = units_left(order)
        if any(not 0 <= units <= lines.get(line_id, 0) for line_id, units in request.units_of_line.items()):
            return RefundOutcome.TOO_MANY_UNITS
        # Under the lock: with two forms at once, each alone may be below.
        if bound_minor is not None and order.refunded_minor + request.amount_minor > bound_minor:
            return RefundOutcome.ABOVE_BOUND
        record(order=order, payment=payment, request=request)
        end_if_all_goes_back(order)
        on_done()
    settle_now([order_id])
    return RefundOutcome.STARTED


def end_if_all_goes_back(order: Order) -> None:
    """End a paid order whose last money is being refunded, or was. Its units stay sold."""
    order.refresh_from_db(fields=["refunded_minor", "status"])
    if order.status in SOLD and order.refunded_minor == order.amount_minor:
        is_due = Refund.objects.filter(order_id=order.pk, status=Refund.Status.DUE, is_surplus=False).exists()
        end_with_refund(order, is_due=is_due, units_back=False)


def end_with_refund(order: Order, *, is_due: bool, units_back: bool) -> None:
    """No money is left of a paid order. Its flash-sale units go back on sale, or stay sold."""
    status = OrderStatus.REFUND_DUE if is_due else OrderStatus.REFUNDED
    paid = Order.objects.filter(pk=order.pk)
    if units_back:
        paid.update(status=status, ended_at=Now(), units_back=True, settled_at=None)
        give_back(order_ids=[order.pk])
    else:
        paid.update(status=status, ended_at=Now(), units_back=False)


def expire_overdue(*, batch_max: int = BATCH_MAX) -> int:
    """Expire one batch of unpaid orders past their deadline and put their units back on sale. Returns how many.

    Orders that the store has as sold stay: they were paid before PostgreSQL was restored from a backup.
    """
    overdue = (
        Order.objects.filter(OVERDUE, status=OrderStatus.AWAITING_PAYMENT)
        .order_by("expires_at")
        .values_list("pk", "reservation_id")
    )
    staying: list[int] = []
    while batch := list(overdue.exclude(pk__in=staying)[:batch_max]):
        sold = sold_in_the_store(reservation_ids=[reservation_id for _, reservation_id in batch])
        unpaid = [pk for pk, reservation_id in batch if reservation_id not in sold]
        if expired := expire(unpaid):
            settle_now(expired)
            ended_unpaid.count(expired)
            return len(expired)
        staying += [pk for pk, _ in batch]
    return 0


def expire(order_ids: Sequence[int]) -> list[int]:
    """Expire these orders, or one half after the other if that fails. Returns the ids of those that have expired.

    The deadline is asked for again: a guest's first payment page may have moved it since they were listed. An order
    that PostgreSQL refuses to end must not keep the others from ending.
    """
    try:
        return end_unpaid(order_ids=order_ids, status=OrderStatus.EXPIRED, only=OVERDUE)
    except (DataError, IntegrityError) as error:
        if len(order_ids) == 1:
            log.error("order_not_expired", order_pk=order_ids[0], error=str(error))
            return []
    half = len(order_ids) // 2
    return expire(order_ids[:half]) + expire(order_ids[half:])


def end_unpaid(
    *, order_ids: Iterable[int], status: OrderStatus, wait: bool = False, only: Q | None = None
) -> list[int]:
    """End those of the orders that still await payment, and subtract their units from `taken`. Returns the ids ended.

    One transaction, which locks the rows first. Rows that another transaction has locked are skipped. With `wait` it
    waits for them instead: a person who cancels wants to know whether it worked.
    """
    with transaction.atomic():
        waiting = list(
            Order.objects.select_for_update(skip_locked=not wait)
            .filter(only or Q(), pk__in=list(order_ids), status=OrderStatus.AWAITING_PAYMENT)
            .order_by("pk")
            .values_list("pk", flat=True)
        )
        if not waiting:
            return []
        ended = Order.objects.filter(pk__in=waiting)
        ended.update(status=status, ended_at=Now(), attention=PAYMENT_FOUND)
        give_back(order_ids=waiting)
        move_units(order_ids=waiting, kind=StockChange.Kind.RELEASED)
        if status is OrderStatus.EXPIRED:
            sending.enqueue(order_ids=waiting, kind=Mail.Kind.EXPIRED)
    return waiting


# --- What payments change. The caller has locked the order, in the transaction that also updates the payment. ---


def mark_paid(order: Order) -> None:
    """The provider has captured the payment of an order that awaited it."""
    awaiting = Order.objects.filter(pk=order.pk, status=OrderStatus.AWAITING_PAYMENT)
    awaiting.update(status=OrderStatus.PAID, ended_at=Now(), attention=PAYMENT_FOUND)
    move_units(order_ids=[order.pk], kind=StockChange.Kind.SOLD)
    write_invoice(order_id=order.pk)
    sending.enqueue(order_ids=[order.pk], kind=Mail.Kind.PAID)


def mark_paid_late(order: Order) -> None:
    """A late payment was accepted: the expired order has its units again (orders/payments/late_money.py)."""
    expired = Order.objects.filter(pk=order.pk, status=OrderStatus.EXPIRED)
    expired.update(status=OrderStatus.PAID, ended_at=Now(), settled_at=None, attention=PAYMENT_FOUND)
    give_reason(order, Attention.LATE_PAYMENT_KEPT)
    write_invoice(order_id=order.pk)
    sending.enqueue(order_ids=[order.pk], kind=Mail.Kind.PAID)


def mark_refund_due(order: Order) -> None:
    """A payment arrived for an order that ended unpaid, and must be refunded. Any other order keeps its status.

    The order becomes unsettled, so that its hold is released again: a crash while a late payment was being decided may
    have left the hold restored. While another late payment of the order is undecided, the order waits for the decision.
    """
    ended = Order.objects.filter(pk=order.pk, status__in=ENDED_UNPAID)
    ended.exclude(payments__status=Payment.Status.CAPTURED).update(status=OrderStatus.REFUND_DUE, settled_at=None)


def mark_refunded(order: Order) -> None:
    """Refunds of the order are done. If the buyer has all the money back, the order is refunded.

    An expired order whose late payment was refunded at the provider's, before the shop had decided, is settled again: a
    crash may have left its hold restored as sold, and the store releases sold units only for a refund.
    """
    if Refund.objects.filter(order_id=order.pk, status=Refund.Status.DUE).exists():
        return
    waiting = Order.objects.filter(pk=order.pk).exclude(payments__status=Payment.Status.CAPTURED)
    waiting.filter(status=OrderStatus.REFUND_DUE).update(status=OrderStatus.REFUNDED)
    # Money that came before the end, and that the order did not take, is no late payment: one may still come.
    undecided = waiting.filter(
        status=OrderStatus.EXPIRED, payments__status=Payment.Status.REFUNDED, payments__captured_at__gt=F("ended_at")
    )
    undecided.update(status=OrderStatus.REFUNDED, settled_at=None)


def tell_of_refund(order: Order, refund: Refund) -> None:
    """Write to the buyer, unless it is money that a paid order did not need, such as a second payment.

    The refund is done, so its credit note is written here too.
    """
    write_note(refund_id=refund.pk)
    if not refund.is_surplus or not Order.objects.filter(pk=order.pk, status__in=SOLD).exists():
        sending.enqueue(order_ids=[order.pk], kind=Mail.Kind.REFUNDED, refund=refund)


def mark_refund_failed(order: Order, *, lost_minor: int) -> None:
    """The provider will not pay a refund; a person should look. `lost_minor` of the order can be refunded again."""
    Order.objects.filter(pk=order.pk).update(refunded_minor=F("refunded_minor") - lost_minor)
    give_reason(order, Attention.REFUND_FAILS)
    Order.objects.filter(pk=order.pk, status=OrderStatus.REFUNDED).update(status=OrderStatus.REFUND_DUE)
