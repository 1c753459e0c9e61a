"""What is taken from the shelves for some orders: the units of each variant, and the orders that they are for."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Prefetch, QuerySet

from orders.models import Order, OrderLine, with_refunded_units
from shop.catalogue.options import options_of
from shop.catalogue.variant_pictures import picture_of_variant
from shop.models import Picture, Variant


@dataclass(slots=True)
class Pick:
    """`orders` are those that want the variant, each with its units."""

    variant: Variant
    name: str
    units: int = 0
    orders: list[tuple[Order, int]] = field(default_factory=list)

    @property
    def options(self) -> list[dict[str, str]]:
        return options_of(self.variant.product.option_names, self.variant.options)

    @property
    def picture(self) -> Picture | None:
        return picture_of_variant(self.variant)


def with_goods(orders: QuerySet[Order]) -> QuerySet[Order]:
    """The orders with all that is packed: five queries for any number of orders."""
    lines = with_refunded_units(OrderLine.objects.select_related("variant__product"))
    return orders.select_related("buyer", "shipping_address").prefetch_related(
        Prefetch("lines", lines.prefetch_related("variant__product__pictures"))
    )


def pick_list(orders: Iterable[Order]) -> list[Pick]:
    """By SKU, without units that were refunded. The SKU is today's, which is on the shelf."""
    picks: dict[int, Pick] = {}
    for order in orders:
        for line in order.lines.all():
            if line.units_left:
                pick = picks.setdefault(line.variant_id, Pick(line.variant, line.product.name))
                pick.units += line.units_left
                pick.orders.append((order, line.units_left))
    return sorted(picks.values(), key=lambda pick: (pick.variant.sku, pick.variant.pk))
