"""`SaleItem.taken`: how many units live orders have. PostgreSQL itself refuses to oversell by this number."""

from collections.abc import Sequence

from django.db.models import F, Q, Sum

from orders.models import OrderLine
from seckill.models import SaleItem


def take(*, item_id: int, units: int) -> bool:
    """Add `units` to `taken`. False if that would exceed the quantity.

    Call it in the transaction that creates the orders or gives an expired one its units again.
    """
    enough_left = Q(quantity=None) | Q(quantity__gte=F("taken") + units)
    return SaleItem.objects.filter(enough_left, pk=item_id).update(taken=F("taken") + units) == 1


def give_back(*, order_ids: Sequence[int]) -> None:
    """Subtract the orders' units from `taken`. Call it in the transaction that ends the orders, with rows locked."""
    units_of_item = (
        OrderLine.objects.filter(order_id__in=order_ids, sale_item__isnull=False)
        .values_list("sale_item_id")
        .annotate(Sum("units"))
        .order_by("sale_item_id")
    )
    for item_id, units in units_of_item:
        SaleItem.objects.filter(pk=item_id).update(taken=F("taken") - units)
