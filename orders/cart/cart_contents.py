"""The contents of a cart: lines with current prices, changes since they were last shown, and the total."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from orders.cart.cart_holder import merged_lines
from orders.cart.cart_lines import UNITS_MAX
from orders.models import Cart, CartLine
from shop.catalogue.offering import stock_text
from shop.databases.prepared import Prepared
from shop.models import Variant


class LineChange(StrEnum):
    """How a line differs from what the buyer last saw, the most important first."""

    NO_LONGER_SOLD = "no_longer_sold"
    TOO_FEW_LEFT = "too_few_left"
    PRICE_CHANGED = "price_changed"


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of a cart. `left` are the units that can be bought now."""

    variant: Variant
    units: int
    seen_price_minor: int
    left: int

    @property
    def is_sold(self) -> bool:
        return self.variant.is_active and self.variant.product.is_active

    @property
    def unit_price_minor(self) -> int:
        return self.variant.price_minor

    @property
    def amount_minor(self) -> int:
        return self.units * self.unit_price_minor

    @property
    def stock_text(self) -> str:
        """What the page of the product says of the stock."""
        return stock_text(self.left)

    @property
    def too_few_left(self) -> bool:
        return self.is_sold and self.left < self.units

    @property
    def price_changed(self) -> bool:
        return self.is_sold and self.seen_price_minor != self.unit_price_minor

    @property
    def changes(self) -> list[LineChange]:
        if not self.is_sold:
            return [LineChange.NO_LONGER_SOLD]
        found = [LineChange.TOO_FEW_LEFT] if self.too_few_left else []
        return [*found, LineChange.PRICE_CHANGED] if self.price_changed else found

    @property
    def blocks(self) -> bool:
        """Whether the line cannot be bought as it is."""
        return not self.is_sold or self.too_few_left

    @property
    def is_bounded(self) -> bool:
        """Whether there are more units than one order may have of the product."""
        return self.left < min(self.units, self.variant.available)


@dataclass(frozen=True, slots=True)
class Contents:
    """Lines that are no longer sold are shown and not counted."""

    lines: Sequence[ShownLine] = ()

    @property
    def sold_lines(self) -> list[ShownLine]:
        return [line for line in self.lines if line.is_sold]

    @property
    def sold_variants(self) -> list[Variant]:
        return [line.variant for line in self.sold_lines]

    @property
    def units(self) -> int:
        return sum(line.units for line in self.sold_lines)

    @property
    def total_minor(self) -> int:
        return sum(line.amount_minor for line in self.sold_lines)

    @property
    def has_tax(self) -> bool:
        rates = (line.variant.product.tax_rate for line in self.sold_lines)
        return any(rate and rate.percent for rate in rates)

    @property
    def weight_grams(self) -> int:
        return sum(line.units * line.variant.weight_grams for line in self.sold_lines)

    @property
    def changed(self) -> list[ShownLine]:
        return [line for line in self.lines if line.changes]

    @property
    def can_be_bought(self) -> bool:
        return bool(self.lines) and not any(line.blocks for line in self.lines)


def contents_of(*carts: Cart | None) -> Contents:
    """Of a cart, or of a buyer's and a guest's as they will be when they are merged.

    In three queries for each, whatever the number of lines. A cart may be older than a smaller bound of a line.
    """
    lines: list[CartLine] = []
    for cart in carts:
        if cart is not None:
            found = cart.lines.select_related("variant__product__tax_rate")
            lines = merged_lines(lines, found.prefetch_related("variant__product__pictures"))
    return Contents(
        [ShownLine(line.variant, line.units, line.seen_price_minor, left) for line, left in left_for(lines)]
    )


def left_for(lines: Iterable[CartLine]) -> Iterator[tuple[CartLine, int]]:
    """Each line with the units that it can have: of the stock, and of what one order may have of the product.

    Variants of one product share that in the order of the lines.
    """
    before: Counter[int] = Counter()
    for line in lines:
        product = line.variant.product
        room = UNITS_MAX if product.order_units_max is None else product.order_units_max - before[product.pk]
        left = max(0, min(line.variant.available, UNITS_MAX, room))
        before[product.pk] += min(line.units, left)
        yield line, left


def units_in_cart(buyer_id: int) -> int:
    return sum(units for (units,) in prepared_units().all(buyer_id))


@lru_cache(maxsize=1)
def prepared_units() -> Prepared:
    lines = CartLine.objects.filter(cart__buyer_id=0, variant__is_active=True, variant__product__is_active=True)
    return Prepared(lines.values_list("units"))


def mark_prices_seen(carts: Sequence[Cart | None], lines: Iterable[ShownLine]) -> None:
    """Note that the buyer sees these prices, so that each change is reported once."""
    shown = [cart for cart in carts if cart is not None]
    for line in lines:
        if line.seen_price_minor != line.unit_price_minor:
            same = CartLine.objects.filter(cart__in=shown, variant=line.variant)
            same.update(seen_price_minor=line.unit_price_minor)
