"""A draw in the words of the API: what everybody may know, and an entry for the account that made it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.urls import reverse
from django.utils.translation import gettext as _

from seckill.draw.drawing import seed_sha256
from seckill.models import Draw, DrawEntry, Sale, SaleItem
from shop.times.timestamps import rfc3339, to_ms


class DrawStage(StrEnum):
    """How far a draw is. Entries are taken while it is `open`."""

    OPEN = "open"
    CLOSED = "closed"
    DRAWN = "drawn"


def stage_of(draw: Draw) -> DrawStage:
    if draw.drawn_at is not None:
        return DrawStage.DRAWN
    return DrawStage.OPEN if draw.closed_at is None else DrawStage.CLOSED


def published_draw(draw: Draw) -> dict[str, Any]:
    """All that is public now. The seed is shown from the draw on."""
    stage = stage_of(draw)
    entries, units = sums_of(draw.sale)
    return {
        "stage": stage,
        "entries_close_at": rfc3339(to_ms(draw.sale.opens_at)),
        "seed_sha256": seed_sha256(draw.seed),
        "entries": entries,
        "units_asked": units,
        "entries_sha256": draw.entries_sha256 or None,
        "units": draw.units or None,
        "seed": draw.seed if stage is DrawStage.DRAWN else None,
        "file_url": reverse("api-draw-file", args=[draw.pk]) if stage is DrawStage.DRAWN else None,
    }


def sums_of(sale: Sale) -> tuple[int, int]:
    """How many entries there are, and how many units they ask for."""
    sums = DrawEntry.objects.filter(item__sale=sale).aggregate(count=Count("pk"), units=Sum("units", default=0))
    return sums["count"], sums["units"]


def winners(*, item_ids: Sequence[int]) -> QuerySet[DrawEntry]:
    """The entries that won at the draw or later, in the drawn order."""
    won = Q(won_at_draw=True) | Q(reserved_at__isnull=False)
    return DrawEntry.objects.filter(won, item__in=item_ids).order_by("item", "place")


def no_units_text(entry: DrawEntry, *, item: SaleItem, is_over: bool) -> str:
    """What the buyer of an entry that has not won reads on its page and in its mail."""
    if is_over and not entry.won_at_draw:
        return _("The sale is over. Thank you for taking part.")
    if entry.units > item.per_buyer_max:
        text = _(
            "Your entry asks for %(units)d units. The shop has lowered the limit since: each account gets %(max)d at "
            "most."
        )
        return text % {"units": entry.units, "max": item.per_buyer_max}
    if is_over:
        return _("Your entry was drawn, but the sale ended before units were held for it. Nothing was charged.")
    return _(
        "Units that winners do not pay for go to the next in the drawn order, until the sale ends. If some come to "
        "you, we will write to you."
    )


def entry_body(entry: DrawEntry) -> dict[str, Any]:
    status_url = reverse("api-reservation", args=[entry.reservation_id]) if entry.reserved_at else None
    return {
        "entry": str(entry.entry_id),
        "item": entry.item_id,
        "units": entry.units,
        "status": entry.status,
        "place": entry.place,
        "status_url": status_url,
    }
