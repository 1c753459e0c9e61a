"""What a reminder can be about: a sale that will open, an item of a sale, or a variant of the ordinary shop."""

from dataclasses import dataclass

from django.utils import timezone

from orders.models import Reminder
from seckill.models import Sale, SaleItem, published_items, published_sales
from shop.models import Variant


@dataclass(frozen=True, slots=True)
class Target:
    """`kind` is the column of Reminder, `path` the page where it is sold. `is_open`: there is something to wait for."""

    kind: str
    pk: int
    name: str
    path: str
    is_open: bool

    @property
    def is_sale(self) -> bool:
        return self.kind == "sale"


def find_target(kind: str, pk: int) -> Target | None:
    """None if buyers may not see it, or there is no such kind."""
    if kind == "sale":
        sale = published_sales().filter(pk=pk).first()
        return target_of_sale(sale) if sale else None
    if kind == "item":
        item = published_items().filter(pk=pk).first()
        return target_of_item(item) if item else None
    if kind == "variant":
        shown = Variant.objects.select_related("product").filter(is_active=True, product__is_active=True)
        variant = shown.filter(pk=pk).first()
        return target_of_variant(variant) if variant else None
    return None


def target_of_sale(sale: Sale) -> Target:
    return Target("sale", sale.pk, str(sale), sale.get_absolute_url(), sale.opens_at > timezone.now())


def target_of_item(item: SaleItem) -> Target:
    path = f"{item.sale.get_absolute_url()}#item-{item.pk}"
    # In a draw, units that come back go to the next in the drawn order.
    is_open = item.sale.closes_at > timezone.now() and not item.sale.has_draw
    return Target("item", item.pk, str(item.variant), path, is_open)


def target_of_variant(variant: Variant) -> Target:
    return Target("variant", variant.pk, str(variant), variant.get_absolute_url(), not variant.available)


def target_of(reminder: Reminder) -> Target:
    if reminder.sale is not None:
        return target_of_sale(reminder.sale)
    if reminder.item is not None:
        return target_of_item(reminder.item)
    assert reminder.variant is not None
    return target_of_variant(reminder.variant)
