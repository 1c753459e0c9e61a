"""Products for tests, with one variant each and more ordinary units than any test needs; and whose an order is."""

from typing import Any

from django.contrib.auth.models import User

from orders.models import Order
from shop.models import Product, StockChange, Variant
from shop.stock.movements import move

PLENTY = 1_000_000


def make_product(*, slug: str, price_minor: int, units: int = PLENTY, **fields: Any) -> Product:
    """A product with one variant of `units` available units."""
    product = Product.objects.create(slug=slug, **fields)
    variant = Variant.objects.create(product=product, sku=f"SKU-{slug}", price_minor=price_minor)
    if units:
        move(kind=StockChange.Kind.CHANGED, units_of={variant.pk: units}, reason="first delivery")
    return product


def variant_of(product: Product) -> Variant:
    """The only variant of a product."""
    return product.variants.get()


def buyer_of(order: Order) -> User:
    """The buyer of an order that is not a guest's."""
    return User.objects.get(pk=order.reserved_by)
