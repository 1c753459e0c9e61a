"""What may be changed of a sale while it runs. The store has the last word on units; what is certain is said here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from seckill.models import UNITS_MAX, Sale, SaleChange, SaleItem, overlapping_item

Kind = SaleChange.Kind

# A change of these is one of an item; the others are of a whole sale.
OF_ITEM = frozenset({Kind.ADD_UNITS, Kind.WITHDRAW_UNITS, Kind.UNITS_PER_BUYER})

REASON_LENGTH_MAX = 300


class CannotChange(Exception):
    """The change breaks a rule; the message is for the shop manager."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change as somebody asks for it. `units` are those to add or withdraw, or the new limit of a buyer."""

    kind: SaleChange.Kind
    reason: str
    units: int | None = None
    closes_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """A sale as it will be once all that is on its way to the store has come there."""

    paused: bool
    closes_at: datetime


def check_rules(wanted: Wanted, *, sale: Sale, items: Sequence[SaleItem], now: datetime) -> None:
    """Raise CannotChange where the change breaks a rule. `items` are those that it concerns, with locked rows."""
    if not 1 <= len(wanted.reason) <= REASON_LENGTH_MAX:
        raise CannotChange(_("Enter a reason of 1 to %(max)d characters.") % {"max": REASON_LENGTH_MAX})
    if not sale.is_published:
        raise CannotChange(_("This sale is not published yet. Edit it directly on its page."))
    if wanted.kind in OF_ITEM:
        for item in items:
            check_units(wanted, item=item)
    else:
        check_sale(wanted, sale=sale, items=items, expected=expected_of(sale), now=now)


def check_units(wanted: Wanted, *, item: SaleItem) -> None:
    """The rules of adding, withdrawing, and of units per buyer."""
    if wanted.units is None or wanted.units < 1:
        raise CannotChange(_("Enter at least one unit."))
    if wanted.kind == Kind.UNITS_PER_BUYER:
        if wanted.units > UNITS_MAX:
            raise CannotChange(_("Enter at most %(max)d units.") % {"max": UNITS_MAX})
        return
    if item.quantity is None:
        raise CannotChange(_("This item is unlimited, so units cannot be added or withdrawn."))
    if wanted.kind == Kind.ADD_UNITS:
        if item.announced_at is None:
            # Its terms are on their way to the store, with the quantity as it is now.
            raise CannotChange(_("This item is not in the reservation store yet. Try again in a moment."))
        if item.quantity + wanted.units > UNITS_MAX:
            raise CannotChange(_("An item can have %(max)d units at most.") % {"max": UNITS_MAX})
    elif wanted.units >= item.quantity:
        raise CannotChange(
            _("At least one of the %(quantity)d units must remain. To stop selling, pause the sale or end it.")
            % {"quantity": item.quantity}
        )


def check_sale(wanted: Wanted, *, sale: Sale, items: Sequence[SaleItem], expected: Expected, now: datetime) -> None:
    """The rules of pausing, resuming, ending, and of moving the end."""
    over = expected.closes_at <= now
    if wanted.kind == Kind.PAUSE and expected.paused:
        raise CannotChange(_("This sale is already paused. Nothing was changed."))
    if wanted.kind == Kind.RESUME and not expected.paused:
        raise CannotChange(_("This sale is not paused. Nothing was changed."))
    if wanted.kind in (Kind.PAUSE, Kind.END_NOW) and over:
        raise CannotChange(_("This sale is already over. Nothing was changed."))
    if wanted.kind == Kind.END_NOW and now < sale.opens_at:
        raise CannotChange(_("This sale has not opened yet. To keep it from opening, pause it."))
    if wanted.kind == Kind.MOVE_END:
        check_end(wanted.closes_at, sale=sale, items=items, now=now)


def check_end(closes_at: datetime | None, *, sale: Sale, items: Sequence[SaleItem], now: datetime) -> None:
    if closes_at is None or closes_at <= now:
        raise CannotChange(_("The new end must be in the future. To end the sale at once, use “End now”."))
    if closes_at <= sale.opens_at:
        raise CannotChange(_("The sale must close after it opens."))
    for item in items:
        item.sale.closes_at = closes_at
        if other := overlapping_item(item):
            raise CannotChange(
                _("“%(product)s” is already in the sale “%(sale)s” at that time.")
                % {"product": item.product, "sale": other.sale}
            )


def expected_of(sale: Sale) -> Expected:
    """The sale with the changes that are on their way counted as done. An end "now" counts from when it was asked."""
    paused, closes_at = sale.paused, sale.closes_at
    waiting = SaleChange.objects.filter(item__sale=sale, status=SaleChange.Status.PENDING).order_by("pk")
    for change in waiting:
        if change.kind in (Kind.PAUSE, Kind.RESUME):
            paused = change.kind == Kind.PAUSE
        elif change.kind == Kind.MOVE_END and change.closes_at:
            closes_at = change.closes_at
        elif change.kind == Kind.END_NOW:
            closes_at = change.made_at
    return Expected(paused=paused, closes_at=closes_at)
