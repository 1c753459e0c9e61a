"""A product as a buyer sees it: its variants, from which price on, and whether any can be had."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from shop.models import Product, Variant

# So few units are named; more are simply in stock.
FEW_UNITS = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """One variant on the page of a product."""

    variant: Variant

    @property
    def availability(self) -> str:
        """A word for the look of the page."""
        return "available" if self.variant.available else "sold_out"

    @property
    def text(self) -> str:
        return stock_text(self.variant.available)

    @property
    def has_few(self) -> bool:
        return self.variant.available <= FEW_UNITS


@dataclass(frozen=True, slots=True)
class Offering:
    """`choices` are the variants that can be bought, at least one."""

    product: Product
    choices: list[Choice]

    @property
    def price_minor(self) -> int:
        return min(choice.variant.price_minor for choice in self.choices)

    @property
    def has_prices(self) -> bool:
        """Whether the variants have different prices."""
        return any(choice.variant.price_minor != self.price_minor for choice in self.choices)

    @property
    def units(self) -> int:
        return sum(choice.variant.available for choice in self.choices)

    @property
    def chosen(self) -> Choice:
        """The variant that the page begins with: the first that is there."""
        return next((choice for choice in self.choices if choice.variant.available), self.choices[0])

    @property
    def option_title(self) -> str:
        return self.product.option_names or _("Variant")


def offerings_of(products: Iterable[Product]) -> list[Offering]:
    """Of products from `with_parts`. One that lost its last variant a moment ago is left out."""
    offerings = [Offering(product, [Choice(variant) for variant in product.variants.all()]) for product in products]
    return [offering for offering in offerings if offering.choices]


def stock_text(units: int) -> str:
    if not units:
        return _("Sold out")
    if units > FEW_UNITS:
        return _("In stock")
    return _("Only %(count)d left") % {"count": units}
