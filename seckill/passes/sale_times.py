"""What a pass depends on besides its buyer: times and admission of the item's sale, and its rules for passes."""

from functools import lru_cache

from seckill.models import Sale, published_items
from seckill.terms.guard_fields import PASS_GUARDS
from shop.databases.prepared import Prepared

FIELDS = ("id", "opens_at", "closes_at", "admission", *PASS_GUARDS)


def find_sale_times(item_id: int) -> Sale | None:
    """The item's sale with its times, admission and rules for passes; None if buyers may not see the item."""
    row = prepared_times().first(item_id)
    return Sale(**dict(zip(FIELDS, row, strict=True))) if row else None


@lru_cache(maxsize=1)
def prepared_times() -> Prepared:
    return Prepared(published_items().filter(pk=0).values_list(*(f"sale__{name}" for name in FIELDS)))
