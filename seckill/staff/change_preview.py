"""The preview of a change, before it is made. seckill/change-preview.js updates it while staff type."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from seckill.changes.rules import Kind
from seckill.live.staff_figures import Figures, figures_of, names_of
from seckill.models import Sale, SaleChange, SaleItem
from seckill.staff.change_form import ChangeForm


@dataclass(frozen=True, slots=True)
class Preview:
    """The items with their present figures, and what the change would make of them.

    `left_after` and `quantity_after` are units; `now` and `after` are the limit per buyer or the end of the sale.
    Fields that the change does not touch are empty. `warning` says that the change would be refused.
    """

    kind: str
    rows: list[Figures]
    left_after: str = ""
    quantity_after: str = ""
    now: str = ""
    after: str = ""
    warning: str = ""


def preview_of(form: ChangeForm, *, kind: SaleChange.Kind, sale: Sale, items: Sequence[SaleItem]) -> Preview:
    """The preview of the entered change; the present figures alone if the form is empty or invalid."""
    names = names_of(items if len(items) > 1 else sale.items.select_related("variant__product"))
    rows = figures_of(items, names=names)
    entered = getattr(form, "cleaned_data", {}) if form.is_bound else {}
    if kind == Kind.MOVE_END:
        closes_at = entered.get("closes_at")
        warning = warning_about_end(closes_at, sale=sale)
        return Preview(kind, rows, now=time_text(sale.closes_at), after=time_text(closes_at), warning=warning)
    units = entered.get("units")
    if kind == Kind.PACE:
        return Preview(kind, rows, now=pace_name(sale.pace), after=pace_name(units) if form.is_bound else "")
    if kind == Kind.UNITS_PER_BUYER:
        return Preview(kind, rows, now=str(items[0].per_buyer_max), after=str(units or ""))
    if kind in (Kind.ADD_UNITS, Kind.WITHDRAW_UNITS) and units:
        return preview_of_units(kind, rows, units if kind == Kind.ADD_UNITS else -units)
    return Preview(kind, rows)


def pace_name(pace: int | None) -> str:
    return str(pace) if pace else _("automatic")


def in_stock(item: SaleItem) -> int | None:
    """How many units can be added; None where they do not come out of the ordinary stock."""
    return item.variant.available if item.from_stock else None


def preview_of_units(kind: SaleChange.Kind, rows: list[Figures], units: int) -> Preview:
    left, quantity, stock = rows[0].left, rows[0].quantity, in_stock(rows[0].item)
    if stock is not None and units > stock:
        return Preview(kind, rows, warning=preview_texts()["too_few_in_stock"].format(stock=stock))
    if not left.isdecimal() or not quantity.isdecimal():
        return Preview(kind, rows)
    if int(left) + units < 0:
        return Preview(kind, rows, warning=preview_texts()["too_few_left"].format(left=left))
    return Preview(kind, rows, left_after=str(int(left) + units), quantity_after=str(int(quantity) + units))


def warning_about_end(closes_at: datetime | None, *, sale: Sale) -> str:
    if closes_at is None:
        return ""
    if closes_at <= timezone.now():
        return preview_texts()["end_passed"]
    return preview_texts()["end_before_opening"] if closes_at <= sale.opens_at else ""


def preview_texts() -> dict[str, str]:
    """Texts that the page's script shows too. It fills in the {placeholders}."""
    return {
        "too_few_left": _("Only {left} left: this change would be refused."),
        "too_few_in_stock": _("Only {stock} in stock: this change would be refused."),
        "end_passed": _("This time has passed: this change would be refused. To end the sale at once, use “End now”."),
        "end_before_opening": _("The sale opens later than this: this change would be refused."),
    }


def as_typed(at: datetime) -> str:
    """A time as a browser writes it into its field, in the zone of the page."""
    return localtime(at).replace(tzinfo=None).isoformat(timespec="milliseconds")


def time_text(at: datetime | None) -> str:
    return date_format(localtime(at), "DATETIME_FORMAT") if at else ""
