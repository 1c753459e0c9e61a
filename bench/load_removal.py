"""Removes what load tests left in the shop: their sales with orders, holds and products, and their buyers.

A sale is of a load test if it is unlisted and all its products are inactive ones that `open_load_sale` made; a buyer is
one if the name is of `load_buyers` and it has no usable password. Rows that do not fit wholly are kept and counted: a
sale that is still open, one in which somebody else has bought, an order that a payment company knows, a buyer with an
order in another sale.

A sale is taken out of the sweeps first, and its rows go last. So a process that is killed anywhere leaves a sale that
the next call finds again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from bench.load_buyers import NAME_PREFIX
from bench.load_sale import SLUG_PREFIX
from orders.life import intake
from orders.models import Document, Order, OrderLine, Payment, PaymentEvent, Refund
from orders.payments.simulated.models import SimulatedSession
from seckill.items import item_state
from seckill.items.lock import item_lock
from seckill.models import Sale, SaleChange, SaleItem
from shop.models import Product, StockChange

# Rows of one transaction: short enough not to hold locks for long.
BATCH_MAX = 500

OF_LOAD_TEST = Q(variant__product__slug__regex=rf"^{SLUG_PREFIX}[0-9]+$", variant__product__is_active=False)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The rows that can be removed, and those that are kept and why, as numbers."""

    sales: int
    orders: int
    buyers: int
    sales_still_open: int
    sales_with_other_buyers: int
    buyers_with_other_orders: int


def load_buyers() -> QuerySet[User]:
    """The users that only load tests use. `make_password(None)` writes a password that starts with "!"."""
    named = User.objects.filter(username__regex=rf"^{NAME_PREFIX}[0-9]{{6,}}$", password__startswith="!")
    return named.filter(email="", is_staff=False, is_superuser=False, last_login=None)


def load_sales() -> QuerySet[Sale]:
    """The sales that `open_load_sale` made, whether or not they can be removed now."""
    items = SaleItem.objects.filter(sale=OuterRef("pk"))
    return Sale.objects.filter(
        Exists(items.filter(OF_LOAD_TEST)), ~Exists(items.exclude(OF_LOAD_TEST)), listed=False
    ).order_by("pk")


def removable_sales() -> QuerySet[Sale]:
    """Those that are over and in which only load-test buyers have bought, with no payment of a real company."""
    return load_sales().filter(~Exists(orders_to_keep("sale_item__sale")), closes_at__lte=Now())


def orders_to_keep(path: str) -> QuerySet[OrderLine]:
    """The lines, of the sale of the outer query, whose order must stay."""
    real_payment = Payment.objects.filter(order=OuterRef("order")).exclude(provider="simulated")
    lines = OrderLine.objects.filter(**{path: OuterRef("pk")})
    of_load_test = Q(variant__product__slug__startswith=SLUG_PREFIX)
    other_products = OrderLine.objects.filter(order=OuterRef("order")).exclude(of_load_test)
    return lines.filter(~Q(order__buyer__in=load_buyers()) | Exists(real_payment) | Exists(other_products))


def find_leftovers() -> Leftovers:
    removable = removable_sales()
    in_removable = Order.objects.filter(lines__sale_item__sale__in=removable.values("pk"))
    of_buyer = Order.objects.filter(buyer=OuterRef("pk"))
    elsewhere = of_buyer.exclude(pk__in=in_removable.values("pk"))
    in_other_sales = of_buyer.exclude(lines__sale_item__sale__in=load_sales().values("pk"))
    open_now = load_sales().filter(closes_at__gt=Now())
    over = load_sales().filter(closes_at__lte=Now())
    return Leftovers(
        sales=removable.count(),
        orders=in_removable.distinct().count(),
        # While a sale is open, its buyers may be about to buy.
        buyers=0 if open_now.exists() else load_buyers().exclude(Exists(elsewhere)).count(),
        sales_still_open=open_now.count(),
        sales_with_other_buyers=over.filter(Exists(orders_to_keep("sale_item__sale"))).count(),
        buyers_with_other_orders=load_buyers().filter(Exists(in_other_sales)).count(),
    )


def remove(*, on_progress: Callable[[int], object] = lambda _count: None) -> None:
    """Remove all that can be removed. `on_progress` gets the number of rows that went since the last call.

    Raises StoreUnreachable and database errors. Calling it again continues.
    """
    for sale in removable_sales():
        remove_sale(sale, on_progress=on_progress)
    if load_sales().filter(closes_at__gt=Now()).exists():
        return
    removable = load_buyers().filter(~Exists(Order.objects.filter(buyer=OuterRef("pk"))))
    for pks in batches(removable):
        with transaction.atomic():
            # Asked again: a load test may have started meanwhile.
            removable.filter(pk__in=pks).delete()
        on_progress(len(pks))


def remove_sale(sale: Sale, *, on_progress: Callable[[int], object]) -> None:
    items = list(sale.items.all())
    for item in items:
        # A reconcile that is under way ends first. Each yes becomes an order, so that nothing arrives later.
        with item_lock(item_id=item.pk):
            if item.announced_at is not None:
                intake.drain_all(item_id=item.pk)
            if not removable_sales().filter(pk=sale.pk).exists():
                return
            SaleItem.objects.filter(pk=item.pk).update(announced_at=None)
            Sale.objects.filter(pk=sale.pk).update(published_at=None)
    for pks in batches(Order.objects.filter(lines__sale_item__in=items)):
        remove_orders(pks)
        on_progress(len(pks))
    product_ids = [item.variant.product_id for item in items]
    for item in items:
        with item_lock(item_id=item.pk):
            item_state.remove(item_id=item.pk)
    with transaction.atomic():
        SaleChange.objects.filter(item__in=items).delete()
        sale.delete()
        unused = Product.objects.filter(pk__in=product_ids, variants__sale_items=None, variants__order_lines=None)
        unused_ids = list(unused.values_list("pk", flat=True))
        StockChange.objects.filter(variant__product__in=unused_ids).delete()
        Product.objects.filter(pk__in=unused_ids).delete()
    on_progress(1)


def remove_orders(pks: list[int]) -> None:
    """The orders with all that refers to them, also without a foreign key: messages would wait for ever."""
    with transaction.atomic():
        payment_ids = list(Payment.objects.filter(order__in=pks).values_list("pk", flat=True))
        SimulatedSession.objects.filter(payment_id__in=payment_ids).delete()
        PaymentEvent.objects.filter(payment_id__in=payment_ids).delete()
        Document.objects.filter(order__in=pks).delete()
        Refund.objects.filter(order__in=pks).delete()
        Payment.objects.filter(pk__in=payment_ids).delete()
        Order.objects.filter(pk__in=pks).delete()


def batches(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    """The ids of the rows, BATCH_MAX at a time. Each row is named once, also if it could not be removed."""
    last = 0
    while pks := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True).distinct()[:BATCH_MAX]):
        yield pks
        last = pks[-1]
