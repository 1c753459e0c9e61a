"""The figures of a draw for staff."""

from typing import Any

from django.db.models import Count, Q, Sum
from django.utils.translation import gettext_lazy

from seckill.draw.draw_answers import DrawStage, stage_of
from seckill.models import Draw, DrawEntry, Sale

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


def draw_numbers(sale_id: int) -> dict[str, int | str]:
    """By the names of LABELS, in two statements; empty for a sale without a draw."""
    draw = Draw.objects.defer("file").filter(pk=sale_id).first()
    if draw is None:
        return {}
    won = Q(status=DrawEntry.Status.WON)
    sums = DrawEntry.objects.filter(item__sale=sale_id).aggregate(
        draw_entries=Count("pk"),
        draw_units=Sum("units", default=0),
        draw_won=Count("pk", filter=won),
        draw_unreserved=Count("pk", filter=won & Q(reserved_at=None)),
        draw_passed_on=Count("pk", filter=Q(status=DrawEntry.Status.PASSED_ON)),
    )
    return {"draw_stage": stage_of(draw).value, **sums}


def draw_figures(sale: Sale) -> list[tuple[Any, str]]:
    """Labels and figures as text; none for a sale without a draw."""
    numbers = draw_numbers(sale.pk)
    if not numbers:
        return []
    stage = DrawStage(str(numbers["draw_stage"]))
    texts = {name: str(number) for name, number in numbers.items()} | {"draw_stage": str(STAGES[stage])}
    return [(LABELS[name], texts[name]) for name in (LABELS if stage is DrawStage.DRAWN else BEFORE_DRAW)]
