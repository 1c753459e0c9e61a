"""`SaleItem.taken`: how many units live orders have. PostgreSQL's own refusal to oversell."""

from collections.abc import Sequence

from django.db.models import F, Q, Sum

from orders.models import OrderLine
from seckill.models import SaleItem


def take(*, item_id: int, units: int) -> bool:
    """Count `units` as taken where the quantity allows it. In the transaction that makes or revives their orders."""
    room = Q(quantity=None) | Q(quantity__gte=F("taken") + units)
    return SaleItem.objects.filter(room, pk=item_id).update(taken=F("taken") + units) == 1


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
