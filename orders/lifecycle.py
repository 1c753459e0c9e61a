"""How an order moves: every change of `Order.status` after intake has inserted the order is written here.

PostgreSQL first, the reservation store second, a sweep for the rest. A state moves by guarded update in the transaction
that moves `SaleItem.taken` and owes the mail; only the winner goes on. Then the order is settled with the store
(`orders/settlement.py`). Money that a provider reports arrives in `orders/payments/inbox.py`, which calls the second
half of this module.

Deadlines are compared with PostgreSQL's clock: a worker whose own clock is wrong must not expire orders early.
"""

from collections.abc import Iterable

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from orders.mails import sending
from orders.models import Attention, Mail, Order, OrderStatus, Payment
from orders.settlement import settle_now
from orders.units_taken import give_back

# One batch of a sweep: long enough to share the cost of a commit, short enough not to hold row locks for long.
BATCH_MAX = 500


def pay(*, order_id: int) -> bool:
    """Record money that staff received. False where the order is not awaiting payment, or its deadline has passed."""
    with transaction.atomic():
        waiting = Order.objects.filter(pk=order_id, status=OrderStatus.AWAITING_PAYMENT, expires_at__gt=Now())
        if waiting.update(status=OrderStatus.PAID, ended_at=timezone.now()) != 1:
            return False
        sending.owe(order_ids=[order_id], kind=Mail.Kind.PAID)
    settle_now([order_id])
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
    settle_now([order_id])
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
    settle_now([order_id])
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
        settle_now(expired)
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


# --- Moves that money makes. The caller has locked the order, in a transaction that also moves the payment. ---

# Orders that have ended without money: money that comes for them goes back, and the order is refunded with it.
ENDED_UNPAID = (OrderStatus.EXPIRED, OrderStatus.CANCELLED, OrderStatus.REJECTED)


def mark_paid(order: Order) -> None:
    """The provider has the money of an order that awaited it."""
    awaiting = Order.objects.filter(pk=order.pk, status=OrderStatus.AWAITING_PAYMENT)
    awaiting.update(status=OrderStatus.PAID, ended_at=timezone.now())
    sending.owe(order_ids=[order.pk], kind=Mail.Kind.PAID)


def mark_paid_late(order: Order) -> None:
    """Late money was accepted: the expired order has its units again, in both stores."""
    expired = Order.objects.filter(pk=order.pk, status=OrderStatus.EXPIRED)
    expired.update(
        status=OrderStatus.PAID, ended_at=timezone.now(), settled_at=None, attention=Attention.LATE_PAYMENT_KEPT
    )
    sending.owe(order_ids=[order.pk], kind=Mail.Kind.PAID)


def mark_refund_due(order: Order) -> None:
    """Money came for an order that ended unpaid, and has to go back. Any other order stays what it is.

    Its hold is released once more: a crash may have left it taken again.
    """
    ended = Order.objects.filter(pk=order.pk, status__in=ENDED_UNPAID)
    ended.update(status=OrderStatus.REFUND_DUE, settled_at=None)


def mark_refunded(order: Order) -> None:
    """All the money that was due is back with the buyer."""
    Order.objects.filter(pk=order.pk, status=OrderStatus.REFUND_DUE).update(status=OrderStatus.REFUNDED)
    sending.owe(order_ids=[order.pk], kind=Mail.Kind.REFUNDED)


def mark_refunded_by_provider(order: Order) -> None:
    """Somebody gave the money back in the provider's own pages, without asking the shop."""
    if order.status == OrderStatus.PAID:
        # Nobody said that the units may be sold again, so they stay sold.
        moved = {"ended_at": timezone.now(), "units_back": False}
    elif order.status == OrderStatus.EXPIRED:
        # Late money that was not decided yet. A crash may have left its units taken again, and only a refund gives
        # back what is sold: so the store is told of a refund.
        moved = {"settled_at": None}
    else:
        return
    Order.objects.filter(pk=order.pk).update(status=OrderStatus.REFUNDED, **moved)
    sending.owe(order_ids=[order.pk], kind=Mail.Kind.REFUNDED)


def mark_refund_failed(order: Order) -> None:
    """The provider could not give the money back after all: a person should look."""
    Order.objects.filter(pk=order.pk).update(attention=Attention.REFUND_FAILS)
    Order.objects.filter(pk=order.pk, status=OrderStatus.REFUNDED).update(status=OrderStatus.REFUND_DUE)
