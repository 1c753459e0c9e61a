"""Opening and end of an item's sale: all that a pass depends on besides its buyer."""

from functools import lru_cache

from seckill.models import Sale, published_items
from shop.databases.prepared import Prepared


def find_sale_times(item_id: int) -> Sale | None:
    """The item's sale with its times and no other field; None if buyers may not see the item."""
    row = prepared_times().first(item_id)
    return Sale(opens_at=row[0], closes_at=row[1]) if row else None


@lru_cache(maxsize=1)
def prepared_times() -> Prepared:
    return Prepared(published_items().filter(pk=0).values_list("sale__opens_at", "sale__closes_at"))
