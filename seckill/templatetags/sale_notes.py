"""Flash sales on cards and on the page of a product. `shop` does not import `seckill`, but its templates may."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import template
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from seckill.models import SaleItem
from shop.catalogue.offering import Offering
from shop.models import Product

register = template.Library()

# A product is seldom in more sales that are still to come.
NOTES_MAX = 3


@dataclass(frozen=True, slots=True)
class Card:
    """A product in a list, and the item of the next or running sale that has it. `is_today` is about the opening."""

    offering: Offering
    item: SaleItem | None
    is_open: bool
    is_today: bool


@register.inclusion_tag("seckill/_sale_note.html")
def sale_note(product: Product) -> dict[str, Any]:
    """Listed sales that run or are coming, the next first, in one query. Live figures are on the page of the sale."""
    now = timezone.now()
    items = items_on_sale(now).filter(variant__product=product).order_by("sale__opens_at", "pk")[:NOTES_MAX]
    return {"items": items, "now": now}


@register.simple_tag
def cards_of(offerings: Iterable[Offering]) -> list[Card]:
    """The products of a list with their next sale, in one query: the cheapest item of it that is not sold out.

    A paused sale is left out: its restart has no time that a card could show.
    """
    now, offerings = timezone.now(), list(offerings)
    items = (
        items_on_sale(now)
        .filter(Q(quantity=None) | Q(taken__lt=F("quantity")), sale__paused=False)
        .filter(variant__product__in=[offering.product.pk for offering in offerings])
        .order_by("variant__product_id", "sale__opens_at", "price_minor", "pk")
        .distinct("variant__product_id")
    )
    next_of = {item.variant.product_id: item for item in items}
    return [card_of(offering, next_of.get(offering.product.pk), now) for offering in offerings]


def card_of(offering: Offering, item: SaleItem | None, now: datetime) -> Card:
    if item is None:
        return Card(offering, None, is_open=False, is_today=False)
    opens_at = item.sale.opens_at
    is_today = timezone.localdate(opens_at) == timezone.localdate(now)
    return Card(offering, item, is_open=opens_at <= now, is_today=is_today)


def items_on_sale(now: datetime) -> QuerySet[SaleItem]:
    """The items of published and listed sales that are not over."""
    listed = SaleItem.objects.filter(sale__published_at__isnull=False, sale__listed=True, sale__closes_at__gt=now)
    return listed.select_related("sale", "variant")
