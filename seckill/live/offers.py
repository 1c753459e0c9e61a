"""A sale item as a buyer sees it: product, price, and its current figures in the reservation store."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from seckill import ledger
from seckill.items import archive, holdings
from seckill.line.line_ledger import WAITING_UNITS_MAX
from seckill.live.answer import availability_of, item_figures
from seckill.live.page_texts import limit_text, pause_note_text, stock_text
from seckill.models import SaleItem
from seckill.phase import Phase
from seckill.store.client import StoreUnreachable

# Up to this limit per buyer, the form has a list of choices; above it, a number field.
CHOICES_MAX = 10


@dataclass(slots=True)
class Offer:
    """`phase` and `availability` are words of the API's `live`. Without counters, the phase comes from PostgreSQL."""

    item: SaleItem
    counters: ledger.Counters | None
    phase: Phase
    # How many units the buyer has, held and bought; 0 for a visitor who is not signed in.
    had: int = 0

    @property
    def sale_url(self) -> str:
        return f"{self.item.sale.get_absolute_url()}#item-{self.item.pk}"

    @property
    def product_url(self) -> str:
        """The product's own page; empty where the ordinary shop does not show it."""
        is_shown = self.item.product.is_active and self.item.variant.is_active
        return self.item.product.get_absolute_url() if is_shown else ""

    @property
    def availability(self) -> str:
        return availability_of(self.counters) if self.counters else "unavailable"

    @property
    def has_line(self) -> bool:
        """Whether buyers can wait for units that come back."""
        return self.item.sale.waiting_list and self.item.quantity is not None

    @property
    def line_units_max(self) -> int:
        return WAITING_UNITS_MAX

    @property
    def can_join(self) -> bool:
        """Whether a page without scripts offers to wait."""
        gone = self.availability in ("held_by_others", "sold_out")
        return self.has_line and self.phase is Phase.OPEN and gone and self.remaining > 0

    @property
    def unit_choices(self) -> range | None:
        """The numbers of units that the buyer can choose; None if they are too many for a list."""
        most = max(self.remaining, 1)
        return range(1, most + 1) if self.per_buyer_max <= CHOICES_MAX else None

    @property
    def per_buyer_max(self) -> int:
        """The limit that the store applies; staff may be changing it."""
        return self.counters.per_buyer_max if self.counters else self.item.per_buyer_max

    @property
    def remaining(self) -> int:
        """How many units the buyer can still take."""
        return max(self.per_buyer_max - self.had, 0)

    @property
    def limit_text(self) -> str:
        return limit_text(remaining=self.remaining, per_buyer_max=self.per_buyer_max)

    @property
    def pause_note(self) -> str:
        note = self.counters.pause_note if self.counters and self.phase is Phase.PAUSED else None
        return pause_note_text(note)

    @property
    def stock_text(self) -> str:
        return stock_text(self.counters, offered=self.offered)

    @property
    def offered(self) -> int | None:
        """How many units a sale had that is over; None while it is not, and for an unlimited item."""
        return self.item.offered if self.phase is Phase.ENDED else None

    @property
    def figures_json(self) -> str:
        """For the page's script, as `live` has them."""
        figures = item_figures(self.counters)
        return json.dumps({**figures, "quantity": self.offered or figures["quantity"]})

    @property
    def left_width(self) -> str:
        """The part of the stock bar for units that are left: full for an unlimited item, empty for an unknown one, and
        after the end.
        """
        return self.width(self.counters.left or 0) if self.counters else "0%"

    @property
    def unsold_width(self) -> str:
        """The part of the stock bar for units that are left or held."""
        return self.width((self.counters.left or 0) + self.counters.held) if self.counters else "0%"

    def width(self, units: int) -> str:
        if self.phase is Phase.ENDED:
            return "0%"
        quantity = self.counters.quantity if self.counters else None
        return f"{100 * units / quantity:.2f}%" if quantity else "100%"


def offers_of(items: Iterable[SaleItem], *, now: datetime, buyer_id: int | None = None) -> list[Offer]:
    """The items with their figures, and with the buyer's units of them, each in one round trip.

    If the store is unreachable, the figures are unknown.
    """
    items = list(items)
    if not items:
        return []
    item_ids = [item.pk for item in items]
    counters: dict[int, ledger.Counters | None] = {}
    had: dict[int, int] = {}
    try:
        counters = archive.counters_of(items)
        if buyer_id is not None:
            had = holdings.units_of_buyer(item_ids=item_ids, buyer_id=buyer_id)
    except StoreUnreachable:
        pass
    return [offer_from(item, counters.get(item.pk), had=had.get(item.pk, 0), now=now) for item in items]


def offer_from(item: SaleItem, known: ledger.Counters | None, *, had: int, now: datetime) -> Offer:
    return Offer(item=item, counters=known, phase=known.phase if known else item.phase_at(now), had=had)
