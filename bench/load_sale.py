"""The sales of load tests: one item each, on sale at once."""

import time
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from seckill.models import LatePayment, Sale, SaleItem
from seckill.publication import CannotPublish, publish_sale
from shop.models import Product

PRICE_MINOR = 1_900
# By it `bench/load_removal.py` finds the products again.
SLUG_PREFIX = "load-test-"


def open_load_sale(
    *,
    name: str,
    quantity: int,
    per_buyer_max: int,
    open_seconds: int,
    hold_seconds: int,
    late_payment: LatePayment = LatePayment.TAKE_AGAIN,
) -> SaleItem:
    """A published sale of one new product, open from now for `open_seconds`. No list shows the sale or the product.

    Nothing is left of it where publishing is refused. Raises CannotPublish and StoreUnreachable.
    """
    now = timezone.now()
    with transaction.atomic():
        product = Product.objects.create(
            name=name, slug=f"{SLUG_PREFIX}{time.time_ns()}", price_minor=PRICE_MINOR, is_active=False
        )
        sale = Sale.objects.create(
            name=name,
            opens_at=now,
            closes_at=now + timedelta(seconds=open_seconds),
            hold_seconds=hold_seconds,
            late_payment=late_payment,
            listed=False,
        )
        item = SaleItem.objects.create(
            sale=sale, product=product, price_minor=PRICE_MINOR, quantity=quantity, per_buyer_max=per_buyer_max
        )
    try:
        publish_sale(sale_id=sale.pk)
    except CannotPublish:
        sale.delete()
        product.delete()
        raise
    return item
