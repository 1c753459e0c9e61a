"""What happened in a sale, on its page once it is over. `seckill` does not import `orders`, but its templates may."""

import time
from datetime import datetime
from functools import lru_cache
from typing import Any

from django import template
from django.db.models import Max

from orders.models import OrderLine
from orders.models.order import SOLD
from seckill.live.offers import Offer
from seckill.models import Sale

register = template.Library()

# The orders of a large sale are not counted for each second in which the page is looked at.
REMEMBERED_SECONDS = 60.0


@register.inclusion_tag("seckill/_result.html")
def sale_result(sale: Sale, offers: list[Offer]) -> dict[str, Any]:
    """The items that were sold to the last unit, and how many seconds after the opening that was reserved."""
    gone = [offer for offer in offers if offer.counters and offer.offered and offer.counters.sold == offer.offered]
    last = last_reserved(sale.pk, period=int(time.monotonic() // REMEMBERED_SECONDS)) if gone else {}
    return {
        "sold_out": [
            (offer, max(1, round((last[offer.item.pk] - sale.opens_at).total_seconds())))
            for offer in gone
            if offer.item.pk in last
        ]
    }


@lru_cache(maxsize=100)
def last_reserved(sale_id: int, *, period: int) -> dict[int, datetime]:
    """By item, when the last unit that was sold was reserved. Remembered for a `period`."""
    lines = OrderLine.objects.filter(sale_item__sale=sale_id, order__status__in=SOLD).order_by()
    return dict(lines.values_list("sale_item").annotate(Max("order__reserved_at")))
