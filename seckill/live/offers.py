"""A sale item as a buyer sees it: product, price, and its current figures in the reservation store."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from seckill import ledger
from seckill.live.answer import availability_of
from seckill.live.page_texts import stock_text
from seckill.models import SaleItem
from seckill.phase import Phase
from seckill.store import StoreUnreachable

# Up to this limit per buyer, the form has a list of choices; above it, a number field.
CHOICES_MAX = 10


@dataclass(slots=True)
class Offer:
    """`phase` and `availability` are words of the API's `live`. Without counters, the phase comes from PostgreSQL."""

    item: SaleItem
    counters: ledger.Counters | None
    phase: Phase
    # A pass for the form of a browser without JavaScript; only the sale page needs one.
    pass_text: str = ""

    @property
    def availability(self) -> str:
        return availability_of(self.counters) if self.counters else "unavailable"

    @property
    def unit_choices(self) -> range | None:
        """1 to the limit per buyer; None if that is too many for a list."""
        return range(1, self.item.per_buyer_max + 1) if self.item.per_buyer_max <= CHOICES_MAX else None

    @property
    def stock_text(self) -> str:
        return stock_text(self.counters)

    @property
    def left_width(self) -> str:
        """The part of the stock bar for units that are left: full for an unlimited item, empty for an unknown one."""
        return self.width(self.counters.left or 0) if self.counters else "0%"

    @property
    def unsold_width(self) -> str:
        """The part of the stock bar for units that are left or held."""
        return self.width((self.counters.left or 0) + self.counters.held) if self.counters else "0%"

    def width(self, units: int) -> str:
        quantity = self.counters.quantity if self.counters else None
        return f"{100 * units / quantity:.2f}%" if quantity else "100%"


def offers_of(items: Iterable[SaleItem], *, now: datetime) -> list[Offer]:
    """The items with their figures, in one round trip. If the store is unreachable, the figures are unknown."""
    items = list(items)
    if not items:
        return []
    try:
        counters = ledger.read_many(item_ids=[item.pk for item in items])
    except StoreUnreachable:
        counters = [None] * len(items)
    return [
        Offer(item=item, counters=known, phase=known.phase if known else item.sale.phase_at(now))
        for item, known in zip(items, counters, strict=True)
    ]
