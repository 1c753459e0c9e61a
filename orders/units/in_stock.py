"""The ordinary stock behind orders that came from a cart: held, sold, released or returned with the order's status.

Lines of a flash sale have their units in the sale (`orders/units/taken.py`). Call these in the transaction that moves
the orders, with their rows locked: orders first, then variants, so that there is no deadlock.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.contrib.auth.models import User

from orders.models import Order, OrderLine
from shop.models import StockChange
from shop.stock.movements import Move, move, move_all

Kind = StockChange.Kind


def move_units(*, order_ids: Sequence[int], kind: StockChange.Kind) -> None:
    """Move the units of each order. Raises NotEnoughUnits, and the caller must then roll back the transaction."""
    units_of_order: defaultdict[str, dict[int, int]] = defaultdict(dict)
    lines = OrderLine.objects.filter(order_id__in=order_ids, sale_item=None).order_by("order_id")
    for code, variant_id, units in lines.values_list("order__code", "variant_id", "units"):
        units_of_order[code][variant_id] = units
    if units_of_order:
        # All at once: two batches that took their rows order by order could wait for each other.
        move_all([Move(kind=kind, units_of=units_of, reference=code) for code, units_of in units_of_order.items()])


def return_to_stock(*, order: Order, units_of_line: Mapping[int, int], made_by: User | None = None) -> None:
    """Put refunded units back on the shelf: how many, by line id. Lines of a flash sale are left out."""
    lines = OrderLine.objects.filter(order=order, sale_item=None, pk__in=units_of_line)
    units_of = {variant_id: units_of_line[pk] for pk, variant_id in lines.values_list("pk", "variant_id")}
    if units_of:
        move(kind=Kind.RETURNED, units_of=units_of, reference=order.code, made_by=made_by)
