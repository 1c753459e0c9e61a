"""The figures of a draw for staff, as text."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from seckill.draw.draw_answers import DrawState, state_of_draw, sums_of
from seckill.models import Draw, DrawEntry, Sale

STATES = {
    DrawState.OPEN: gettext_lazy("takes entries"),
    DrawState.CLOSED: gettext_lazy("entries closed"),
    DrawState.DRAWN: gettext_lazy("drawn"),
}


def draw_figures(sale: Sale) -> list[tuple[Any, str]]:
    """Labels and figures; none for a sale without a draw."""
    draw = Draw.objects.defer("file").filter(pk=sale.pk).first()
    if draw is None:
        return []
    state = state_of_draw(draw)
    entries, units = sums_of(sale)
    figures = [(_("draw"), str(STATES[state])), (_("entries"), str(entries)), (_("units asked for"), str(units))]
    if state is DrawState.DRAWN:
        of_sale = DrawEntry.objects.filter(item__sale=sale)
        won = of_sale.filter(status=DrawEntry.Status.WON)
        figures += [
            (_("winners now"), str(won.count())),
            (_("of them without units yet"), str(won.filter(reserved_at=None).count())),
            (_("passed on"), str(of_sale.filter(status=DrawEntry.Status.PASSED_ON).count())),
        ]
    return figures
