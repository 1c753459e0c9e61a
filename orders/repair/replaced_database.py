"""Finds the data of an item that PostgreSQL lost when another server took over, by what the reservation store knows.

A standby that replicates asynchronously lacks the last commits of its primary when it is promoted; a server that was
restored from a backup lacks all since then. The store is told of an order's end only after the commit, so where the two
differ, the store is right: a hold without an order was promised to its buyer, an ended hold had ended, and a sold one
was paid.

Other data is lost: orders of the ordinary shop, accounts, carts, and changes by staff.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from orders.life import lifecycle
from orders.models import ATTENTION_TO_DO, LIVE, SOLD, Attention, Order, OrderLine, OrderStatus
from seckill.items import item_state
from seckill.ledger_words import Hold
from seckill.models import SaleChange

log = structlog.get_logger(__name__)

BATCH_MAX = 500
# How many are named in the log; the audit names each payment, and the admin lists its order.
NAMED_MAX = 100


@dataclass(frozen=True, slots=True)
class Losses:
    """Ids of orders that the store knows better: their holds have ended, were paid, or were refunded."""

    ended: list[int] = field(default_factory=list)
    paid: list[int] = field(default_factory=list)
    refunded: list[int] = field(default_factory=list)


def end_what_ended_in_the_store(*, item_id: int) -> int:
    """Expire the orders that await payment and whose holds have ended: they expired, or were cancelled."""
    count = 0
    for batch in losses_in_batches(item_id=item_id):
        if batch.ended:
            # The store knows it already; the sweep of unsettled orders notes that.
            count += len(lifecycle.end_unpaid(order_ids=batch.ended, status=OrderStatus.EXPIRED))
    return count


def list_what_is_lost(*, item_id: int, ended: int, brought_back: int) -> None:
    """Put orders that have lost a payment or a refund on the staff's list, and log all that differed.

    Call it when the orders are back, and before holds are repaired. `ended` and `brought_back` are how many were.
    """
    paid: list[int] = []
    refunded: list[int] = []
    for batch in losses_in_batches(item_id=item_id):
        paid += batch.paid
        refunded += batch.refunded
    unlisted = Order.objects.exclude(attention__in=ATTENTION_TO_DO)
    unlisted.filter(pk__in=paid).update(attention=Attention.PAYMENT_LOST)
    unlisted.filter(pk__in=refunded).update(attention=Attention.REFUND_LOST)
    changes = changes_of_the_store_alone(item_id=item_id)
    write = log.error if ended or brought_back or paid or refunded or changes else log.warning
    write(
        "item_of_a_replaced_database",
        item_id=item_id,
        orders_brought_back=brought_back,
        orders_ended=ended,
        payments_lost=len(paid),
        refunds_lost=len(refunded),
        orders=numbers_of([*paid, *refunded][:NAMED_MAX]),
        changes_lost=[str(operation_id) for operation_id in changes[:NAMED_MAX]],
    )


def numbers_of(order_ids: list[int]) -> list[str]:
    return [str(number) for number in Order.objects.filter(pk__in=order_ids).values_list("number", flat=True)]


def changes_of_the_store_alone(*, item_id: int) -> list[UUID]:
    """Changes of the sale that the store has applied and PostgreSQL does not have: units added, a new end, a pause."""
    known = SaleChange.objects.filter(item_id=item_id).values_list("operation_id", flat=True)
    return sorted(item_state.applied_operations(item_id=item_id) - set(known))


def losses_in_batches(*, item_id: int) -> Iterator[Losses]:
    # An expired order may have been paid late, and have had its units again.
    known = OrderLine.objects.filter(sale_item_id=item_id, order__status__in=(*LIVE, OrderStatus.EXPIRED))
    lines = known.exclude(order__reservation_id=None)
    rows = lines.order_by("order_id").values_list("order_id", "order__reservation_id", "order__status")
    last_id = 0
    while batch := list(rows.filter(order_id__gt=last_id)[:BATCH_MAX]):
        holds = item_state.find_holds(item_id=item_id, reservation_ids=[pk for _, pk, _ in batch if pk])
        found = Losses()
        for (order_id, _, status), hold in zip(batch, holds, strict=True):
            note(found, order_id, status=status, hold=hold)
        yield found
        last_id = batch[-1][0]


def note(found: Losses, order_id: int, *, status: str, hold: Hold | None) -> None:
    if hold is None:
        return
    if hold.state == "ended" and status in SOLD:
        found.refunded.append(order_id)
    elif hold.state == "ended" and status == OrderStatus.AWAITING_PAYMENT:
        found.ended.append(order_id)
    elif hold.state == "sold" and status not in SOLD:
        found.paid.append(order_id)
