"""The figures of an item for staff: left, held and sold from the reservation store, `taken` from PostgreSQL.

All figures of an archived item are from PostgreSQL.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from seckill import ledger
from seckill.items import archive
from seckill.line.line_ledger import count_waiting
from seckill.live.page_texts import pause_note_text
from seckill.models import SaleItem
from seckill.store.client import StoreUnreachable
from shop.prices.price_field import price_text

# Shown instead of a number.
NO_NUMBER = "–"


@dataclass(frozen=True, slots=True)
class Figures:
    """One item's figures as text. `note` says why numbers are missing, or that the sale is paused or archived.

    `name` is the item's among its sale's (`names_of`); empty for a script that only fetches figures. `revenue` is that
    of the units that are sold now. The percents are of all units; None where these are unlimited or not known.
    """

    item: SaleItem
    left: str
    held: str
    sold: str
    note: str
    name: str = ""
    revenue: str = NO_NUMBER
    sold_percent: float | None = None
    held_percent: float | None = None

    @property
    def price(self) -> str:
        return price_text(self.item.price_minor)

    @property
    def quantity(self) -> str:
        return units_text(self.item.offered)

    @property
    def per_buyer_max(self) -> str:
        return str(self.item.per_buyer_max)

    @property
    def taken(self) -> str:
        return str(self.item.taken)

    def as_json(self) -> dict[str, str | float | None]:
        texts = ("left", "held", "sold", "taken", "quantity", "per_buyer_max", "revenue", "note")
        return {name: getattr(self, name) for name in (*texts, "sold_percent", "held_percent")}


def names_of(items: Iterable[SaleItem]) -> dict[int, str]:
    """By the item's id: product and options, and the SKU where another of the items is called the same."""
    variants = {item.pk: item.variant for item in items}
    count = Counter(map(str, variants.values()))
    return {
        pk: str(variant) if count[str(variant)] == 1 else f"{variant} ({variant.sku})"
        for pk, variant in variants.items()
    }


def name_of(item: SaleItem) -> str:
    """Its name among the items of its sale."""
    return names_of(item.sale.items.select_related("variant__product"))[item.pk]


def figures_of(items: Sequence[SaleItem], *, names: Mapping[int, str] | None = None) -> list[Figures]:
    """The figures of the items, in order. Where the item's server of the store does not answer, the note says so."""
    names = names or {}
    counters: dict[int, ledger.Counters | None] = {}
    in_line: dict[int, int] = {}
    with suppress(StoreUnreachable):
        counters = archive.counters_of(items)
        with_line = [item.pk for item in items if item.sale.waiting_list and not item.archived_at]
        in_line = count_waiting(item_ids=with_line) if with_line else {}
    found = (
        figures_from(item, counters[item.pk], in_line=in_line.get(item.pk))
        if item.pk in counters
        else without_numbers(item, _("reservation store not reachable"))
        for item in items
    )
    return [replace(figures, name=names.get(figures.item.pk, "")) for figures in found]


def figures_from(item: SaleItem, counters: ledger.Counters | None, *, in_line: int | None = None) -> Figures:
    if counters is None:
        published = item.sale.is_published
        return without_numbers(item, _("not in the reservation store") if published else _("not published"))
    units = None if counters.left is None else counters.left + counters.held + counters.sold
    return Figures(
        item=item,
        left=units_text(counters.left),
        held=str(counters.held),
        sold=str(counters.sold),
        note=note_of(item, counters, in_line=in_line),
        revenue=price_text(counters.sold * item.price_minor),
        sold_percent=percent_of(counters.sold, units),
        held_percent=percent_of(counters.held, units),
    )


def percent_of(part: int, units: int | None) -> float | None:
    """With one decimal, for a bar; None if there are no units, or without end."""
    return round(100 * part / units, 1) if units else None


def note_of(item: SaleItem, counters: ledger.Counters, *, in_line: int | None = None) -> str:
    """`in_line` is how many wait for the item; None where it has no waiting list."""
    returned = [_("%(units)d back in stock") % {"units": item.returned}] if item.returned else []
    if in_line is not None:
        returned.append(_("%(people)d in the waiting list") % {"people": in_line})
    if item.archived_at:
        return " · ".join([*returned, _("archived")])
    if counters.state != "paused":
        return " · ".join(returned)
    note = pause_note_text(counters.pause_note)
    return " · ".join([*returned, _("paused: “%(note)s”") % {"note": note} if note else _("paused")])


def without_numbers(item: SaleItem, note: str) -> Figures:
    return Figures(item=item, left=NO_NUMBER, held=NO_NUMBER, sold=NO_NUMBER, note=note)


def units_text(units: int | None) -> str:
    """A number of units as text; None means unlimited."""
    return _("unlimited") if units is None else str(units)
