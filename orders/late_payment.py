"""Whether an order's money came after its time was over: the buyer's pages and mails say then what became of it."""

from orders.models import Attention, Order, OrderStatus, Payment

LATE = {Attention.LATE_PAYMENT_KEPT, Attention.LATE_PAYMENT_REFUNDED}


def came_late(order: Order) -> bool:
    """Also after staff have dealt with it, which clears `attention`."""
    if order.attention in LATE:
        return True
    return any(
        payment.captured_at is not None and payment.captured_at > order.expires_at
        for payment in order.payments.all()
        if payment.status != Payment.Status.FAILED
    )


def is_undecided(order: Order) -> bool:
    """The money is there, and it is being found out whether the units still are."""
    return order.status == OrderStatus.EXPIRED and any(
        payment.status == Payment.Status.CAPTURED for payment in order.payments.all()
    )
