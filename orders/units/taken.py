"""`SaleItem.taken`: how many units live orders have. PostgreSQL itself refuses to oversell by this number."""

from collections.abc import Sequence

from django.db.models import F, Q, Sum

from orders.models import OrderLine
from seckill.models import SaleItem


def take(*, item_id: int, units: int, incarnation: str | None = None) -> bool:
    """Add `units` to `taken`. False if that would exceed the quantity, or for units that another server of the store
    reserved than the one that `accept_only` has named; None stands for units of no reservation.

    Call it in the transaction that creates the orders or gives an expired one its units again.
    """
    enough_left = Q(quantity=None) | Q(quantity__gte=F("taken") + units)
    items = SaleItem.objects.filter(enough_left, pk=item_id)
    if incarnation is not None:
        items = items.filter(incarnation__in=("", incarnation))
    return items.update(taken=F("taken") + units) == 1


def accept_only(*, item_id: int, incarnation: str) -> None:
    """From now on only reservations of this server of the store become orders.

    Call it before the item is compared with its orders. It waits for transactions that have taken units, so they are
    seen; those that come later with reservations of a former server are refused, since their units may be sold again.
    """
    SaleItem.objects.filter(pk=item_id).exclude(incarnation=incarnation).update(incarnation=incarnation)


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
