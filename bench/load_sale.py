"""The sales of load tests, on sale at once: mostly of one item each."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from seckill.models import LatePayment, Sale, SaleItem
from seckill.publication import CannotPublish, publish_sale
from shop.models import Product, StockChange, Variant
from shop.stock.movements import move

PRICE_MINOR = 1_900
# By it `bench/load_removal.py` finds the products again.
SLUG_PREFIX = "load-test-"
# A sale that closed longer ago than any hold can last is not swept any more.
RETIRED = timedelta(days=30)


def open_load_sale(*, quantity: int, **details: Any) -> SaleItem:
    """The item of a sale of one new product, with `quantity` units. `details` are those of `open_load_items`."""
    (item,) = open_load_items(quantities=[quantity], **details)
    return item


def open_load_items(
    *,
    name: str,
    quantities: Sequence[int],
    per_buyer_max: int,
    open_seconds: int,
    hold_seconds: int,
    opens_in_seconds: float = 0.0,
    late_payment: LatePayment = LatePayment.TAKE_AGAIN,
    spare_units: int = 0,
    admission: Sale.Admission = Sale.Admission.FIRST_COME,
) -> list[SaleItem]:
    """The items of a published sale, a new product for each quantity, open for `open_seconds`, usually from now.

    Each product has `spare_units` more in its ordinary stock, from which the sale can be given units while it runs.
    No list shows the sale or the products. Nothing is left of it where publishing is refused. Raises CannotPublish and
    StoreUnreachable.
    """
    opens_at = timezone.now() + timedelta(seconds=opens_in_seconds)
    with transaction.atomic():
        sale = Sale.objects.create(
            name=name,
            opens_at=opens_at,
            closes_at=opens_at + timedelta(seconds=open_seconds),
            hold_seconds=hold_seconds,
            late_payment=late_payment,
            listed=False,
            admission=admission,
        )
        items = []
        for quantity in quantities:
            variant = make_load_product(name=name, price_minor=PRICE_MINOR, units=quantity + spare_units)
            items.append(
                SaleItem.objects.create(
                    sale=sale, variant=variant, price_minor=PRICE_MINOR, quantity=quantity, per_buyer_max=per_buyer_max
                )
            )
    try:
        publish_sale(sale_id=sale.pk)
    except CannotPublish:
        sale.delete()
        for item in items:
            StockChange.objects.filter(variant=item.variant).delete()
            item.variant.product.delete()
        raise
    return items


def retire(item: SaleItem) -> None:
    """Take its sale out of the sweeps, so that they have no more to do in later trials and rounds than in the first.

    It writes to PostgreSQL directly: no change that staff can make lets a sale end in the past.
    """
    long_ago = timezone.now() - RETIRED
    Sale.objects.filter(pk=item.sale_id).update(opens_at=long_ago - timedelta(hours=1), closes_at=long_ago)
    SaleItem.objects.filter(pk=item.pk).update(announced_at=long_ago)


def make_load_product(*, name: str, price_minor: int, units: int, **fields: Any) -> Variant:
    """The only variant of a new product that no list shows, with `units` available units."""
    product = Product.objects.create(
        name=name, **{"slug": f"{SLUG_PREFIX}{time.time_ns()}", "is_active": False, **fields}
    )
    variant = Variant.objects.create(product=product, sku=product.slug, price_minor=price_minor)
    move(kind=StockChange.Kind.CHANGED, units_of={variant.pk: units}, reason="load test")
    return variant
