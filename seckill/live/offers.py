"""A sale item as a buyer sees it: product, price, and what the reservation store says about it right now."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from seckill import ledger
from seckill.live.answer import availability_of
from seckill.live.page_texts import stock_text
from seckill.models import SaleItem
from seckill.phase import Phase
from seckill.store import StoreUnreachable

# Above this many units a list of choices is worse than a field for the number.
CHOICES_MAX = 10


@dataclass(slots=True)
class Offer:
    """`phase` and `availability` are words of the API's `live`. Without counters the phase is PostgreSQL's."""

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
        """1 to the buyer's limit; None where that is too many to choose from."""
        return range(1, self.item.per_buyer_max + 1) if self.item.per_buyer_max <= CHOICES_MAX else None

    @property
    def stock_text(self) -> str:
        return stock_text(self.counters)

    @property
    def left_width(self) -> str:
        """The stock bar's part that can be had: full for an unlimited item, empty for an unknown one."""
        return self.width(self.counters.left or 0) if self.counters else "0%"

    @property
    def unsold_width(self) -> str:
        """The stock bar's part that can be had or may come back."""
        return self.width((self.counters.left or 0) + self.counters.held) if self.counters else "0%"

    def width(self, units: int) -> str:
        quantity = self.counters.quantity if self.counters else None
        return f"{100 * units / quantity:.2f}%" if quantity else "100%"


def offers_of(items: Iterable[SaleItem], *, now: datetime) -> list[Offer]:
    """The items with their figures, in one round trip. An unreachable store leaves the figures unknown."""
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
