"""Changes of a cart: lines are added, set and removed. The caller has locked the cart, in a transaction."""

from collections.abc import Mapping
from enum import StrEnum

from django.conf import settings

from orders.models import Cart, CartLine
from shop.models import Variant

# A person can look over so many lines on one page.
LINES_MAX = 50
# For more of one thing, buyers write to the shop's staff. It also bounds the units that one checkout can hold.
UNITS_MAX: int = settings.CHECKOUT_LINE_UNITS_MAX


class AddOutcome(StrEnum):
    NOT_SOLD = "not_sold"
    CART_FULL = "cart_full"
    AS_MANY_AS_POSSIBLE = "as_many_as_possible"
    ADDED = "added"


def sold_variant(sku: str) -> Variant | None:
    """The variant with this number, if it can be bought in the ordinary shop."""
    variants = Variant.objects.select_related("product")
    return variants.filter(sku=sku, is_active=True, product__is_active=True).first()


def add_units(*, cart: Cart, variant: Variant, units: int) -> AddOutcome:
    """Add units to the cart, as far as the bounds of a line and of a cart allow."""
    if not (variant.is_active and variant.product.is_active):
        return AddOutcome.NOT_SOLD
    line = CartLine.objects.filter(cart=cart, variant=variant).first()
    if line is None and cart.lines.count() >= LINES_MAX:
        return AddOutcome.CART_FULL
    wanted = (line.units if line else 0) + units
    kept = min(wanted, units_max_of(variant))
    # The button beside the price was pressed, so the price has been seen.
    values = {"units": kept, "seen_price_minor": variant.price_minor}
    CartLine.objects.update_or_create(cart=cart, variant=variant, defaults=values)
    touch(cart)
    return AddOutcome.ADDED if kept == wanted else AddOutcome.AS_MANY_AS_POSSIBLE


def units_max_of(variant: Variant) -> int:
    """How many units a line of the variant may have: of its product's own bound, or of the shop's."""
    return min(UNITS_MAX, variant.product.order_units_max or UNITS_MAX)


def set_units(*, cart: Cart, units_of: Mapping[int, int]) -> None:
    """Change lines that the cart has, by variant id. 0 removes a line; other variants are not added."""
    for line in cart.lines.filter(variant_id__in=list(units_of)):
        units = min(units_of[line.variant_id], UNITS_MAX)
        if units <= 0:
            line.delete()
        elif units != line.units:
            CartLine.objects.filter(pk=line.pk).update(units=units)
    touch(cart)


def replace_lines(*, cart: Cart, units_of: Mapping[Variant, int]) -> None:
    """Make the cart hold exactly these lines. Lines that stay keep the price that was seen."""
    cart.lines.exclude(variant__in=list(units_of)).delete()
    set_units(cart=cart, units_of={variant.pk: units for variant, units in units_of.items()})
    known = set(cart.lines.values_list("variant_id", flat=True))
    CartLine.objects.bulk_create(
        CartLine(cart=cart, variant=variant, units=units, seen_price_minor=variant.price_minor)
        for variant, units in units_of.items()
        if variant.pk not in known
    )


def touch(cart: Cart) -> None:
    """Note that the cart has changed: a guest's cart is removed some time after its last change."""
    cart.save(update_fields=["changed_at"])
