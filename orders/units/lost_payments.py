"""Payments that PostgreSQL has lost, because it was restored from a backup, and of which the reservation store knows.

The store is told of a payment only after PostgreSQL has committed it. So an order whose hold is sold, and that awaits
payment in PostgreSQL, was paid: its buyer must not be charged again, and must not lose the units.
"""

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from orders.models import Attention, Order
from seckill.items import item_state
from seckill.passes.passes import item_id_of
from seckill.store.client import StoreUnreachable


def sold_in_the_store(*, reservation_ids: Iterable[UUID | None]) -> set[UUID]:
    """The reservations whose holds are sold.

    Where the store does not answer, or has no hold, those count of which staff know that their payment was lost.
    """
    of_item: defaultdict[int, list[UUID]] = defaultdict(list)
    for reservation_id in reservation_ids:
        if reservation_id is not None:
            of_item[item_id_of(reservation_id)].append(reservation_id)
    sold: set[UUID] = set()
    unknown: list[UUID] = []
    for item_id, ids in of_item.items():
        try:
            holds = item_state.find_holds(item_id=item_id, reservation_ids=ids)
        except StoreUnreachable:
            unknown += ids
            continue
        found = list(zip(ids, holds, strict=True))
        sold.update(pk for pk, hold in found if hold is not None and hold.state == "sold")
        unknown += [pk for pk, hold in found if hold is None]
    if unknown:
        listed = Order.objects.filter(reservation_id__in=unknown, attention=Attention.PAYMENT_LOST)
        sold.update(pk for pk in listed.values_list("reservation_id", flat=True) if pk)
    return sold
