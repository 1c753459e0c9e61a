"""How an order moves: paid, shipped, completed, expired, cancelled, refunded.

PostgreSQL first, the reservation store second, a sweep for the rest. A state moves by guarded update in the transaction
that moves `taken` and owes the mail; only the winner goes on. Then the ledger is told (confirm or release) and
`settled_at` is set. A crash in between leaves `settled_at` null and `settle_orders` repeats the call, which is
idempotent. Money that comes from a provider arrives in `orders/payments/inbox.py`.

Deadlines are compared with PostgreSQL's clock: a worker whose own clock is wrong must not expire orders early.
"""

from collections.abc import Iterable, Sequence

import structlog
from django.db import transaction
from django.db.models import F, Sum
from django.db.models.functions import Now
from django.utils import timezone

from orders.mails import sending
from orders.models import SOLD, Mail, Order, OrderLine, OrderStatus, Payment
from seckill import ledger
from seckill.models import SaleItem
from shop import failpoints

log = structlog.get_logger(__name__)

# One batch of a sweep: long enough to share the cost of a commit, short enough not to hold row locks for long.
BATCH_MAX = 500

Answer = ledger.Confirmed | ledger.Released
# An order as it was read, and what the ledger said to its end.
Told = tuple[Order, Answer]

# Answers that mean the store and the order disagree: nothing is left to tell, but somebody should know.
# Compared by identity: a confirmation that was confirmed already is no surprise, and is written with the same word.
SURPRISES = (
    ledger.Confirmed.UNKNOWN_HOLD,
    ledger.Confirmed.HOLD_ENDED,
    ledger.Released.UNKNOWN_HOLD,
    ledger.Released.ALREADY_CONFIRMED,
)

REASONS = {
    OrderStatus.EXPIRED: ledger.Reason.EXPIRED,
    OrderStatus.CANCELLED: ledger.Reason.CANCELLED,
    OrderStatus.REJECTED: ledger.Reason.REJECTED,
    OrderStatus.REFUND_DUE: ledger.Reason.REFUNDED,
    OrderStatus.REFUNDED: ledger.Reason.REFUNDED,
}


def pay(*, order_id: int) -> bool:
    """Record money that staff received. False where the order is not awaiting payment, or its deadline has passed."""
    with transaction.atomic():
        waiting = Order.objects.filter(pk=order_id, status=OrderStatus.AWAITING_PAYMENT, expires_at__gt=Now())
        if waiting.update(status=OrderStatus.PAID, ended_at=timezone.now()) != 1:
            return False
        sending.owe(order_ids=[order_id], kind=Mail.Kind.PAID)
    tell_soon([order_id])
    return True


def ship(*, order_id: int) -> bool:
    """Note that a paid order is on its way to the buyer. False where it is not paid."""
    return Order.objects.filter(pk=order_id, status=OrderStatus.PAID).update(status=OrderStatus.SHIPPED) == 1


def complete(*, order_id: int) -> bool:
    """Note that the buyer has what was bought. False where the order is not shipped."""
    return Order.objects.filter(pk=order_id, status=OrderStatus.SHIPPED).update(status=OrderStatus.COMPLETED) == 1


def cancel(*, order_id: int) -> bool:
    """Cancel an unpaid order and put its units back on sale. False where it is not awaiting payment."""
    if not end_unpaid(order_ids=[order_id], status=OrderStatus.CANCELLED, wait=True):
        return False
    tell_soon([order_id])
    return True


def refund(*, order_id: int, units_back: bool) -> bool:
    """Give the money of a paid order back. False where it is not paid, or was shipped.

    Money that a provider captured is `refund_due`, and so is the order, until the provider confirms
    (`orders/payments/refunds.py`). Money that staff recorded is theirs to hand over: that order is refunded at once.
    With `units_back` the units go back on sale now; without, they stay sold, for goods that nobody else can have.
    """
    with transaction.atomic():
        order = Order.objects.select_for_update().filter(pk=order_id, status=OrderStatus.PAID).first()
        if order is None:
            return False
        captured = Payment.objects.filter(order_id=order_id, status=Payment.Status.CAPTURED)
        by_provider = captured.update(
            status=Payment.Status.REFUND_DUE, attempts=0, next_attempt_at=Now(), last_error=""
        )
        status = OrderStatus.REFUND_DUE if by_provider else OrderStatus.REFUNDED
        moved = Order.objects.filter(pk=order_id)
        if units_back:
            moved.update(status=status, ended_at=timezone.now(), units_back=True, settled_at=None)
            give_back(order_ids=[order_id])
        else:
            moved.update(status=status, ended_at=timezone.now(), units_back=False)
        if status is OrderStatus.REFUNDED:
            sending.owe(order_ids=[order_id], kind=Mail.Kind.REFUNDED)
    tell_soon([order_id])
    return True


def expire_overdue(*, batch_max: int = BATCH_MAX) -> int:
    """Expire one batch of unpaid orders past their deadline and put their units back on sale. Returns how many."""
    overdue = (
        Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT, expires_at__lte=Now())
        .order_by("expires_at")
        .values_list("pk", flat=True)[:batch_max]
    )
    expired = end_unpaid(order_ids=list(overdue), status=OrderStatus.EXPIRED)
    if expired:
        tell_soon(expired)
    return len(expired)


def end_unpaid(*, order_ids: Iterable[int], status: OrderStatus, wait: bool = False) -> list[int]:
    """Move those of the orders that still await payment to `status`, and their units out of `taken`. Returns the moved.

    One transaction. The rows are locked first; those that somebody else is moving right now are left to him, or with
    `wait` waited for, since a person wants to know how it ended.
    """
    with transaction.atomic():
        waiting = list(
            Order.objects.select_for_update(skip_locked=not wait)
            .filter(pk__in=list(order_ids), status=OrderStatus.AWAITING_PAYMENT)
            .order_by("pk")
            .values_list("pk", flat=True)
        )
        if not waiting:
            return []
        Order.objects.filter(pk__in=waiting).update(status=status, ended_at=timezone.now())
        give_back(order_ids=waiting)
        if status is OrderStatus.EXPIRED:
            sending.owe(order_ids=waiting, kind=Mail.Kind.EXPIRED)
    return waiting


def give_back(*, order_ids: Sequence[int]) -> None:
    """Move the orders' units out of `taken`. In the transaction that moves the orders, after their rows are locked."""
    units_of_item = (
        OrderLine.objects.filter(order_id__in=order_ids, sale_item__isnull=False)
        .values_list("sale_item_id")
        .annotate(Sum("units"))
        .order_by("sale_item_id")
    )
    for item_id, units in units_of_item:
        SaleItem.objects.filter(pk=item_id).update(taken=F("taken") - units)


def tell_soon(order_ids: Sequence[int]) -> None:
    """After the commit: tell the ledger. Whoever dies before it leaves the telling to the sweep."""
    failpoints.reach("lifecycle.after_commit")
    settle_orders(order_ids=order_ids)


def settle_orders(*, order_ids: Iterable[int] | None = None, batch_max: int = BATCH_MAX) -> int:
    """Tell the ledger how orders ended, those given or else the oldest that it was not told of. Returns how many.

    A store that cannot be reached leaves them for the next sweep: the order stands in PostgreSQL, which is the truth.
    """
    unsettled = OrderLine.objects.filter(order__settled_at=None, sale_item__isnull=False).exclude(
        order__status=OrderStatus.AWAITING_PAYMENT
    )
    if order_ids is not None:
        unsettled = unsettled.filter(order_id__in=list(order_ids))
    settled = 0
    # A batch for each item, so that an item which the store has lost does not stand in the way of the others.
    for item_id in list(unsettled.order_by().values_list("sale_item_id", flat=True).distinct()):
        lines = unsettled.filter(sale_item_id=item_id).select_related("order").order_by("order__ended_at")[:batch_max]
        told = tell_all(item_id=item_id, orders=[line.order for line in lines])
        for status in {order.status for order, _ in told}:
            # Guarded by what was told: an order that moved on meanwhile has another thing to tell.
            as_told = Order.objects.filter(pk__in=[order.pk for order, _ in told if order.status == status])
            settled += as_told.filter(status=status, settled_at=None).update(settled_at=timezone.now())
        for order, answer in told:
            if any(answer is surprise for surprise in SURPRISES) and is_still(order):
                log.error("hold_differs_from_order", item_id=item_id, order=str(order.number), hold=answer.value)
    return settled


def tell_all(*, item_id: int, orders: list[Order]) -> list[Told]:
    """Tell the ledger in one round trip, or one by one where that fails. Returns the orders that are done.

    A hold that was tampered with makes the store refuse the whole batch; it must not keep the others from their end.
    """
    try:
        return tell_ledger(item_id=item_id, orders=orders)
    except (ledger.StoreUnreachable, ValueError) as error:
        log.warning("settling_one_by_one", item_id=item_id, orders=len(orders), error=str(error))
    told: list[Told] = []
    for order in orders:
        try:
            told += tell_ledger(item_id=item_id, orders=[order])
        except (ledger.StoreUnreachable, ValueError) as error:
            if not answers(item_id=item_id):
                log.warning("settling_waits_for_store", item_id=item_id, error=str(error))
                break
            log.error("hold_cannot_be_settled", item_id=item_id, order=str(order.number), error=str(error))
    return told


def answers(*, item_id: int) -> bool:
    """Whether the store speaks at all: then it is the hold that is at fault."""
    try:
        ledger.read(item_id=item_id)
    except ledger.StoreUnreachable:
        return False
    return True


def tell_ledger(*, item_id: int, orders: list[Order]) -> list[Told]:
    """Confirm or release the orders' holds, in one round trip for each way they ended. Returns what it heard."""
    told: list[Told] = []
    reasons = {order.pk: reason_of(order) for order in orders}
    for reason in sorted(set(reasons.values()), key=str):
        group = [order for order in orders if reasons[order.pk] is reason and order.reservation_id]
        reservation_ids = [order.reservation_id for order in group if order.reservation_id]
        given: list[Answer] = []
        if reason is None:
            given += ledger.confirm(item_id=item_id, reservation_ids=reservation_ids)
        else:
            given += ledger.release(item_id=item_id, reservation_ids=reservation_ids, reason=reason)
        # A store that does not know the item is to be told again, once it does.
        told += [(order, answer) for order, answer in zip(group, given, strict=True) if answer != "unavailable"]
    return told


def is_still(order: Order) -> bool:
    """Whether the order is as it was read. One that has moved on meanwhile surprises nobody, and is told again."""
    return Order.objects.filter(pk=order.pk, status=order.status).exists()


def reason_of(order: Order) -> ledger.Reason | None:
    """Why the order's units are given back; None where they stay sold."""
    if order.status in SOLD:
        return None
    if order.status in (OrderStatus.REFUND_DUE, OrderStatus.REFUNDED) and not order.units_back:
        return None
    return REASONS[OrderStatus(order.status)]
