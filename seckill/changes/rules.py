"""The rules for changing a running sale. Only the store knows whether enough units are left to withdraw."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Max, Sum
from django.utils.translation import gettext as _

from seckill.changes.pauses import OF_ITEM_ALONE, PAUSES
from seckill.models import UNITS_MAX, Sale, SaleChange, SaleItem, overlapping_item

Kind = SaleChange.Kind

# These change one item; the others change a whole sale.
OF_ITEM = frozenset(
    {
        *(Kind.ADD_UNITS, Kind.WITHDRAW_UNITS, Kind.RETURN_UNSOLD, Kind.DRAW),
        *(Kind.UNITS_PER_BUYER, Kind.PAUSE_ITEM, Kind.RESUME_ITEM),
    }
)
# After the end they would do nothing for a buyer, and the unsold units are back in the stock.
WHILE_RUNNING = frozenset(
    {Kind.ADD_UNITS, Kind.WITHDRAW_UNITS, Kind.UNITS_PER_BUYER, Kind.PAUSE_ITEM, Kind.RESUME_ITEM}
)

REASON_LENGTH_MAX = 300
# In an emergency, the pause comes first and the explanation later.
REASON_OPTIONAL = PAUSES
# In each language. It stands above the button on a phone.
NOTE_LENGTH_MAX = 120


class CannotChange(Exception):
    """The change breaks a rule; the message is for the shop manager."""


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A change that a shop manager or the shop itself asks for.

    `reason` may be empty for a pause. `units` is how many to add or withdraw, or the new limit per buyer.
    `public_note` is what buyers read during a pause, by the code of its language.
    """

    kind: SaleChange.Kind
    reason: str
    units: int | None = None
    closes_at: datetime | None = None
    public_note: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SaleState:
    """The fields of a sale that pending changes can alter."""

    paused: bool
    closes_at: datetime


def check_rules(request: ChangeRequest, *, sale: Sale, items: Sequence[SaleItem], now: datetime) -> None:
    """Raise CannotChange if the change breaks a rule. `items` are the affected ones, of a sale whose row is locked."""
    reason_length_min = 0 if request.kind in REASON_OPTIONAL else 1
    if not reason_length_min <= len(request.reason) <= REASON_LENGTH_MAX:
        raise CannotChange(_("Enter a reason of 1 to %(max)d characters.") % {"max": REASON_LENGTH_MAX})
    if request.public_note and request.kind not in PAUSES:
        raise CannotChange(_("Only a pause has a note for buyers."))
    if any(not 1 <= len(text) <= NOTE_LENGTH_MAX for text in request.public_note.values()):
        raise CannotChange(_("A note for buyers has at most %(max)d characters.") % {"max": NOTE_LENGTH_MAX})
    if not sale.is_published:
        raise CannotChange(_("This sale is not published yet. Edit it directly on its page."))
    if any(item.archived_at for item in items):
        # Archiving locks the sale too, so this cannot be overtaken.
        raise CannotChange(_("This sale is archived. An operator can bring it back; or make a new sale."))
    state = state_after_pending(sale)
    if request.kind in WHILE_RUNNING and state.closes_at <= now:
        raise CannotChange(_("This sale is over. To change its units, first move its end to a later time."))
    if request.kind == Kind.RETURN_UNSOLD and now < state.closes_at:
        # Its end was moved after the sweep had read the units that were left.
        raise CannotChange(_("This sale is not over. Its unsold units stay in it."))
    if request.kind in OF_ITEM_ALONE:
        for item in items:
            check_pause_of_item(request, item=item)
    elif request.kind in OF_ITEM:
        for item in items:
            check_units(request, item=item)
    else:
        check_sale(request, sale=sale, items=items, state=state, now=now)


def check_units(request: ChangeRequest, *, item: SaleItem) -> None:
    """The rules for adding and withdrawing units, and for units per buyer."""
    if request.units is None or request.units < 1:
        raise CannotChange(_("Enter at least one unit."))
    if request.kind == Kind.UNITS_PER_BUYER:
        if request.units > UNITS_MAX:
            raise CannotChange(_("Enter at most %(max)d units.") % {"max": UNITS_MAX})
        return
    if item.quantity is None:
        raise CannotChange(_("This item is unlimited, so units cannot be added or withdrawn."))
    if request.kind == Kind.ADD_UNITS:
        if item.announced_at is None:
            # It is about to be published with its present quantity: added units could be lost or counted twice.
            raise CannotChange(_("This item is not in the reservation store yet. Try again in a moment."))
        if item.quantity + request.units > UNITS_MAX:
            raise CannotChange(_("An item can have %(max)d units at most.") % {"max": UNITS_MAX})
    elif request.kind == Kind.WITHDRAW_UNITS and request.units >= item.quantity:
        raise CannotChange(
            _("At least one of the %(quantity)d units must remain. To stop selling, pause the sale or end it.")
            % {"quantity": item.quantity}
        )


def check_pause_of_item(request: ChangeRequest, *, item: SaleItem) -> None:
    paused = is_paused_after_pending(item)
    if request.kind == Kind.PAUSE_ITEM and paused:
        raise CannotChange(_("This item is already paused. Nothing was changed."))
    if request.kind == Kind.RESUME_ITEM and not paused:
        raise CannotChange(_("This item is not paused by itself. Nothing was changed."))


def check_sale(
    request: ChangeRequest, *, sale: Sale, items: Sequence[SaleItem], state: SaleState, now: datetime
) -> None:
    """The rules for pausing, resuming, ending, and moving the end."""
    over = state.closes_at <= now
    if request.kind == Kind.PACE:
        check_pace(request, sale=sale)
    if request.kind == Kind.PAUSE and state.paused:
        raise CannotChange(_("This sale is already paused. Nothing was changed."))
    if request.kind == Kind.RESUME and not state.paused:
        raise CannotChange(_("This sale is not paused. Nothing was changed."))
    if request.kind in (Kind.PAUSE, Kind.END_NOW, Kind.PACE) and over:
        raise CannotChange(_("This sale is already over. Nothing was changed."))
    if request.kind == Kind.END_NOW and now < sale.opens_at:
        raise CannotChange(_("This sale has not opened yet. To keep it from opening, pause it."))
    if request.kind == Kind.MOVE_END:
        check_end(request.closes_at, sale=sale, items=items, now=now)


def check_pace(request: ChangeRequest, *, sale: Sale) -> None:
    if not sale.has_room:
        raise CannotChange(_("This sale has no waiting room."))
    if request.units is not None and not 1 <= request.units <= UNITS_MAX:
        raise CannotChange(_("Let in at least one person a minute. To stop the line, pause the sale."))


def check_end(closes_at: datetime | None, *, sale: Sale, items: Sequence[SaleItem], now: datetime) -> None:
    if closes_at is None or closes_at <= now:
        raise CannotChange(_("The new end must be in the future. To end the sale at once, use “End now”."))
    if closes_at <= sale.opens_at:
        raise CannotChange(_("The sale must close after it opens."))
    returning = SaleChange.objects.filter(item__in=items, kind=Kind.RETURN_UNSOLD, status=SaleChange.Status.PENDING)
    if returning.exists():
        # The sale would open without the units that still leave it.
        raise CannotChange(_("Unsold units of this sale are on their way back to the stock. Try again in a moment."))
    for item in items:
        item.sale.closes_at = closes_at
        if other := overlapping_item(item):
            raise CannotChange(
                _("“%(product)s” is already in the sale “%(sale)s” at that time.")
                % {"product": item.variant, "sale": other.sale}
            )


def returned_units(item: SaleItem) -> int:
    """How many unsold units went back to the stock since the sale ended for the last time."""
    changes = item.changes.exclude(status=SaleChange.Status.REFUSED)
    reopened = changes.filter(kind=Kind.MOVE_END).aggregate(last=Max("pk", default=0))["last"]
    returned = changes.filter(kind=Kind.RETURN_UNSOLD, pk__gt=reopened)
    units: int = returned.aggregate(units=Sum("units", default=0))["units"]
    return units


def is_paused_after_pending(item: SaleItem) -> bool:
    """Whether the item alone is paused once its pending changes are applied."""
    pending = item.changes.filter(status=SaleChange.Status.PENDING, kind__in=OF_ITEM_ALONE).order_by("pk").last()
    return pending.kind == Kind.PAUSE_ITEM if pending else item.paused


def state_after_pending(sale: Sale) -> SaleState:
    """The sale once its pending changes are applied. “End now” counts from when it was requested."""
    paused, closes_at = sale.paused, sale.closes_at
    pending = SaleChange.objects.filter(item__sale=sale, status=SaleChange.Status.PENDING).order_by("pk")
    for change in pending:
        if change.kind in (Kind.PAUSE, Kind.RESUME):
            paused = change.kind == Kind.PAUSE
        elif change.kind == Kind.MOVE_END and change.closes_at:
            closes_at = change.closes_at
        elif change.kind == Kind.END_NOW:
            closes_at = change.made_at
    return SaleState(paused=paused, closes_at=closes_at)
