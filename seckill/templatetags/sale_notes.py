"""Flash sales on the pages of products, cart and checkout. `shop` does not import `seckill`, but its templates may."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import template
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import get_language

from seckill.live.page_texts import stock_texts
from seckill.live.product_sales import ProductSales, cheaper_offers, items_on_sale, sales_of
from seckill.models import SaleItem
from shop.catalogue.offering import Offering
from shop.models import Product, Variant

register = template.Library()


@dataclass(frozen=True, slots=True)
class Card:
    """A product in a list, and the item of the next or running sale that has it. `is_today` is about the opening."""

    offering: Offering
    item: SaleItem | None
    is_open: bool
    is_today: bool

    @property
    def shown(self) -> tuple[object, ...]:
        """All that templates/shop/catalogue/_card.html shows of it: cards for which this is equal look the same."""
        offering, item = self.offering, self.item
        picture = offering.product.first_picture
        return (
            *(get_language(), offering.product.slug, str(offering.product)),
            *(offering.price_minor, offering.has_prices, bool(offering.units)),
            picture and (picture.image.name, picture.alt),
            item and (item.price_minor, item.variant.options, item.sale.opens_at, item.sale.has_draw),
            *(self.is_open, self.is_today),
        )


@register.simple_tag
def sales_of_product(product: Product) -> ProductSales:
    return sales_of(product)


@register.simple_tag
def stock_texts_of_sales() -> dict[str, str]:
    """For the script that follows the figures."""
    return stock_texts()


@register.filter
def with_sales(data: dict[str, Any], sales: ProductSales) -> dict[str, Any]:
    """The product's data for search engines, with the offers of its sales."""
    return {**data, "offers": [*data["offers"], *sales.data]}


@register.inclusion_tag("seckill/_cheaper.html")
def cheaper_in_sales(variants: Iterable[Variant], buyer_id: int | None) -> dict[str, Any]:
    """The running sales that have one of these for less than the buyer is about to pay."""
    ids = [variant.pk for variant in variants]
    return {"offers": cheaper_offers(variant_ids=ids, buyer_id=buyer_id)}


@register.simple_tag
def cards_of(offerings: Iterable[Offering]) -> list[Card]:
    """The products of a list with their next sale, in one query: the cheapest item of it that is not sold out.

    A paused sale is left out: its restart has no time that a card could show.
    """
    now, offerings = timezone.now(), list(offerings)
    items = (
        items_on_sale(now)
        .filter(Q(quantity=None) | Q(taken__lt=F("quantity")), sale__paused=False, paused=False)
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
