"""The figures of a draw for staff."""

import time
from contextlib import suppress
from typing import Any, cast

from django.core.cache import cache
from django.db.models import Count, Q, Sum
from django.utils.translation import gettext_lazy

from seckill.draw.draw_answers import DrawStage, stage_of
from seckill.models import Draw, DrawEntry, Sale
from shop.background.outages import AWAY

STAGES = {
    DrawStage.OPEN: gettext_lazy("takes entries"),
    DrawStage.CLOSED: gettext_lazy("entries closed"),
    DrawStage.DRAWN: gettext_lazy("drawn"),
}
# In the order in which pages show them. The last ones mean something from the draw on.
LABELS = {
    "draw_stage": gettext_lazy("draw"),
    "draw_entries": gettext_lazy("entries"),
    "draw_units": gettext_lazy("units asked for"),
    "draw_won": gettext_lazy("winners now"),
    "draw_unreserved": gettext_lazy("of them without units yet"),
    "draw_passed_on": gettext_lazy("passed on"),
}
BEFORE_DRAW = ("draw_stage", "draw_entries", "draw_units")
# Entries are counted for all who look. The longer it takes the longer the count is kept, so that it is busy for a
# hundredth of the time at most: of a million entries the count is some twenty seconds old.
KEPT_SECONDS_MIN, COUNTING_SHARE = 1.0, 0.01
# They do not change any more.
CLOSED_KEPT_SECONDS = 3600


def draw_numbers(sale_id: int) -> dict[str, int | str]:
    """By the names of LABELS, in three statements at most; empty for a sale without a draw."""
    draw = Draw.objects.defer("file").filter(pk=sale_id).first()
    if draw is None:
        return {}
    won = Q(status=DrawEntry.Status.WON)
    # By their index: as many rows as there are units.
    winners = DrawEntry.objects.filter(
        item__sale=sale_id, status__in=[DrawEntry.Status.WON, DrawEntry.Status.PASSED_ON]
    )
    sums = winners.aggregate(
        draw_won=Count("pk", filter=won),
        draw_unreserved=Count("pk", filter=won & Q(reserved_at=None)),
        draw_passed_on=Count("pk", filter=~won),
    )
    return {"draw_stage": stage_of(draw).value, **count_entries(draw), **sums}


def count_entries(draw: Draw) -> dict[str, int]:
    """Entries and the units that they ask for, as of a moment ago. Counted anew while the cache server is away."""
    key = f"seckill.draw.entries:{draw.pk}:{stage_of(draw)}"
    with suppress(*AWAY):
        if found := cache.get(key):
            return cast(dict[str, int], found)
    began_s = time.monotonic()
    entries = DrawEntry.objects.filter(item__sale=draw.pk)
    counted = entries.aggregate(draw_entries=Count("pk"), draw_units=Sum("units", default=0))
    kept_seconds = max(KEPT_SECONDS_MIN, (time.monotonic() - began_s) / COUNTING_SHARE)
    with suppress(*AWAY):
        cache.set(key, counted, timeout=CLOSED_KEPT_SECONDS if draw.closed_at else kept_seconds)
    return counted


def draw_figures(sale: Sale) -> list[tuple[Any, str]]:
    """Labels and figures as text; none for a sale without a draw."""
    numbers = draw_numbers(sale.pk)
    if not numbers:
        return []
    stage = DrawStage(str(numbers["draw_stage"]))
    texts = {name: str(number) for name, number in numbers.items()} | {"draw_stage": str(STAGES[stage])}
    return [(LABELS[name], texts[name]) for name in (LABELS if stage is DrawStage.DRAWN else BEFORE_DRAW)]
