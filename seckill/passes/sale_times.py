"""Opening, end and admission of an item's sale: all that a pass depends on besides its buyer."""

from functools import lru_cache

from seckill.models import Sale, published_items
from shop.databases.prepared import Prepared


def find_sale_times(item_id: int) -> Sale | None:
    """The item's sale with its id, times and admission, and no other field; None if buyers may not see the item."""
    row = prepared_times().first(item_id)
    return Sale(pk=row[0], opens_at=row[1], closes_at=row[2], admission=row[3]) if row else None


@lru_cache(maxsize=1)
def prepared_times() -> Prepared:
    fields = ("sale_id", "sale__opens_at", "sale__closes_at", "sale__admission")
    return Prepared(published_items().filter(pk=0).values_list(*fields))
