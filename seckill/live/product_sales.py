"""The flash sales that products are in, for the pages of the ordinary shop: product, lists, cart and checkout."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet
from django.utils import timezone

from seckill.live.offers import Offer, offers_of
from seckill.models import Sale, SaleItem
from seckill.phase import Phase, in_phase
from shop.models import Product
from shop.prices.money import to_text

# A product is seldom in more sales that are still to come, with more variants.
OFFERS_MAX = 6
# A buyer who would pay the ordinary price can as well wait for an opening that is so near.
SOON = timedelta(days=1)
MAY_BE_HAD = ("available", "unlimited", "held_by_others")
# Of an open sale. What is `unavailable` may have units left.
IN_SCHEMA_ORG = {**dict.fromkeys(MAY_BE_HAD, "InStock"), "sold_out": "SoldOut"}


@dataclass(frozen=True, slots=True)
class ProductSales:
    """A product's sales that run or are coming, the next first."""

    offers: list[Offer]
    now: datetime

    @property
    def comes_first(self) -> bool:
        """Whether the ordinary price comes second: units are to be had for less, or soon will be."""
        return any(self.is_better(offer) for offer in self.offers)

    def is_better(self, offer: Offer) -> bool:
        soon = offer.phase is Phase.UPCOMING and offer.item.sale.opens_at - self.now < SOON
        cheaper = offer.item.price_minor < offer.item.variant.price_minor
        return cheaper and (soon or offer.phase is Phase.OPEN) and offer.availability in MAY_BE_HAD

    @property
    def data(self) -> list[dict[str, Any]]:
        """The offers in the words of schema.org, which has none for a draw: nobody can order in it."""
        return [offer_data(offer) for offer in self.offers if not offer.item.sale.has_draw]


def offer_data(offer: Offer) -> dict[str, Any]:
    item, sale = offer.item, offer.item.sale
    availability = "PreOrder" if offer.phase is Phase.UPCOMING else IN_SCHEMA_ORG.get(offer.availability)
    return {
        "@type": "Offer",
        "sku": item.variant.sku,
        "url": f"{settings.SHOP_URL}{offer.sale_url}",
        "price": to_text(minor=item.price_minor, currency=settings.CURRENCY),
        "priceCurrency": settings.CURRENCY,
        "validFrom": sale.opens_at.isoformat(),
        "priceValidUntil": sale.closes_at.isoformat(),
        **({"availability": availability} if availability else {}),
    }


def sales_of(product: Product) -> ProductSales:
    """In one query, and one call to the reservation store where there are any."""
    now = timezone.now()
    items = items_on_sale(now).filter(variant__product=product).order_by("sale__opens_at", "pk")[:OFFERS_MAX]
    return ProductSales(offers_of(items, now=now), now)


def cheaper_offers(*, variant_ids: Collection[int], buyer_id: int | None) -> list[Offer]:
    """What the buyer can have right now for less than the ordinary price: of each variant the cheapest offer."""
    now = timezone.now()
    items = (
        items_on_sale(now)
        .filter(in_phase(Phase.OPEN, now=now, path="sale__"), variant__in=variant_ids)
        .filter(price_minor__lt=F("variant__price_minor"))
        .order_by("variant_id", "price_minor", "pk")
    )
    found: dict[int, Offer] = {}
    for offer in offers_of(items, now=now, buyer_id=buyer_id):
        can_be_had = offer.phase is Phase.OPEN and offer.availability in ("available", "unlimited") and offer.remaining
        if can_be_had:
            found.setdefault(offer.item.variant_id, offer)
    return list(found.values())


def items_on_sale(now: datetime) -> QuerySet[SaleItem]:
    """The items of published and listed sales that are not over. A draw can be entered only until it opens."""
    listed = SaleItem.objects.filter(sale__published_at__isnull=False, sale__listed=True, sale__closes_at__gt=now)
    can_be_had = listed.exclude(sale__admission=Sale.Admission.DRAW, sale__opens_at__lte=now)
    return can_be_had.select_related("sale", "variant__product")
