"""The figures of a draw for staff, as text."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from seckill.draw.draw_answers import DrawStage, stage_of, sums_of
from seckill.models import Draw, DrawEntry, Sale

STAGES = {
    DrawStage.OPEN: gettext_lazy("takes entries"),
    DrawStage.CLOSED: gettext_lazy("entries closed"),
    DrawStage.DRAWN: gettext_lazy("drawn"),
}


def draw_figures(sale: Sale) -> list[tuple[Any, str]]:
    """Labels and figures; none for a sale without a draw."""
    draw = Draw.objects.defer("file").filter(pk=sale.pk).first()
    if draw is None:
        return []
    stage = stage_of(draw)
    entries, units = sums_of(sale)
    figures = [(_("draw"), str(STAGES[stage])), (_("entries"), str(entries)), (_("units asked for"), str(units))]
    if stage is DrawStage.DRAWN:
        of_sale = DrawEntry.objects.filter(item__sale=sale)
        won = of_sale.filter(status=DrawEntry.Status.WON)
        figures += [
            (_("winners now"), str(won.count())),
            (_("of them without units yet"), str(won.filter(reserved_at=None).count())),
            (_("passed on"), str(of_sale.filter(status=DrawEntry.Status.PASSED_ON).count())),
        ]
    return figures
