"""On the page of a product: the flash sales that have it. `shop` does not import `seckill`, but its templates may."""

from typing import Any

from django import template
from django.utils import timezone

from seckill.models import SaleItem
from shop.models import Product

register = template.Library()

# A product is seldom in more sales that are still to come.
NOTES_MAX = 3


@register.inclusion_tag("seckill/_sale_note.html")
def sale_note(product: Product) -> dict[str, Any]:
    """Listed sales that run or are coming, the next first, in one query. Live figures are on the page of the sale."""
    now = timezone.now()
    items = SaleItem.objects.filter(
        variant__product=product, sale__published_at__isnull=False, sale__listed=True, sale__closes_at__gt=now
    )
    items = items.select_related("sale", "variant").order_by("sale__opens_at", "pk")[:NOTES_MAX]
    return {"items": items, "now": now}
