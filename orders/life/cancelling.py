"""A buyer cancels an order. Buyers who cancel again and again have to wait, since others see the units come and go.

Cancels are counted for each buyer and item. An order that cannot be cancelled now ends by itself at its deadline. The
time for which the units were held counts too, as that of a hold that expires (orders/life/ended_unpaid.py).
"""

from dataclasses import dataclass
from enum import StrEnum

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from orders.life import ended_unpaid, lifecycle
from orders.life.settlement import settle_now
from orders.models import Order, OrderStatus
from orders.units.lost_payments import sold_in_the_store
from shop.accounts.limits import take_of_client
from shop.http.rate_limits import LimitReached
from shop.times.time_left import duration

log = structlog.get_logger(__name__)


class CancelOutcome(StrEnum):
    """The result of a cancellation, in the order of the checks."""

    NOT_AWAITING_PAYMENT = "not_awaiting_payment"
    RECORD_LOST = "record_lost"
    TOO_OFTEN = "cancelled_too_often"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class CancelAnswer:
    """The outcome. `retry_after_seconds` is set if the buyer cancelled too often."""

    outcome: CancelOutcome
    retry_after_seconds: int = 0


def cancel(*, order: Order, request: HttpRequest) -> CancelAnswer:
    """Cancel an unpaid order for its buyer, and put its units back on sale.

    Of flash sales, cancels count for the buyer and for the network from which many accounts may come. An order whose
    payment was lost with PostgreSQL stays: staff alone may end it.
    """
    if order.status != OrderStatus.AWAITING_PAYMENT:
        return CancelAnswer(CancelOutcome.NOT_AWAITING_PAYMENT)
    if sold_in_the_store(reservation_ids=[order.reservation_id]):
        # Read again: the store hears of a payment only after PostgreSQL has committed it.
        order.refresh_from_db(fields=["status"])
        if order.status != OrderStatus.AWAITING_PAYMENT:
            return CancelAnswer(CancelOutcome.NOT_AWAITING_PAYMENT)
        log.error("order_paid_in_the_store_only", order=str(order.number))
        return CancelAnswer(CancelOutcome.RECORD_LOST)
    try:
        for line in order.lines.all():
            if line.sale_item_id:
                take_of_client(
                    request,
                    action="cancel",
                    account=order.buyer_id,
                    by_account=settings.CANCEL_LIMIT,
                    by_network=settings.CANCEL_LIMIT_BY_NETWORK,
                    about=line.sale_item_id,
                )
    except LimitReached as refusal:
        return CancelAnswer(CancelOutcome.TOO_OFTEN, retry_after_seconds=refusal.retry_after_seconds)
    if not lifecycle.cancel(order_id=order.pk):
        return CancelAnswer(CancelOutcome.NOT_AWAITING_PAYMENT)
    ended_unpaid.count([order.pk])
    return CancelAnswer(CancelOutcome.CANCELLED)


def cancel_unpaid_of(*, buyer_id: int) -> int:
    """End the unpaid orders of an account that was blocked. Returns how many.

    Its row is locked first, so an order that is being written for it is waited for: checkout and intake lock it before
    they insert one, and later ones see that it is blocked. An order whose payment was lost with PostgreSQL stays: staff
    alone may end it.
    """
    with transaction.atomic():
        list(User.objects.select_for_update().filter(pk=buyer_id).values_list("pk"))
    # Without the lock: others lock accounts after the item that these orders give units back to.
    awaiting = Order.objects.filter(buyer_id=buyer_id, status=OrderStatus.AWAITING_PAYMENT)
    reservation_ids = dict(awaiting.values_list("pk", "reservation_id"))
    sold = sold_in_the_store(reservation_ids=reservation_ids.values())
    unpaid = [pk for pk, reservation_id in reservation_ids.items() if reservation_id not in sold]
    ended = lifecycle.end_unpaid(order_ids=unpaid, status=OrderStatus.CANCELLED, wait=True)
    settle_now(ended)
    return len(ended)


def too_often_text(answer: CancelAnswer) -> str:
    """The text for the buyer, with another way out."""
    return _(
        "You have cancelled orders for this item several times. You can cancel again in %(time)s. You do not have to "
        "do anything: an order that is not paid ends at its payment deadline, and nothing is charged."
    ) % {"time": duration(answer.retry_after_seconds)}
