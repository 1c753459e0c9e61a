"""A change as text for staff: the request and the result. The journal itself keeps words and figures."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from seckill.changes.rules import OF_ITEM
from seckill.ledger import AdjustAnswer
from seckill.live.page_texts import pause_note_text
from seckill.live.staff_figures import name_of
from seckill.models import SaleChange
from shop.times.zone import time_with_offset

Kind = SaleChange.Kind
Status = SaleChange.Status

FIGURES = ("quantity", "left", "held", "sold")


def journal_outcome(answer: AdjustAnswer) -> str:
    """The store's answer as the journal keeps it: "adjusted quantity=550 left=207 held=31 sold=312"."""
    found = {name: getattr(answer, name) for name in FIGURES}
    return " ".join([answer.word.value, *(f"{name}={value}" for name, value in found.items() if value is not None)])


def request_text(change: SaleChange) -> str:
    """The request: “add 50 units”."""
    units = change.units or 0
    if note := pause_note_text(change.public_note):
        return _("%(pause)s, note for buyers: “%(note)s”") % {"pause": change.get_kind_display(), "note": note}
    match change.kind:
        case Kind.ADD_UNITS:
            return ngettext("add %(units)d unit", "add %(units)d units", units) % {"units": units}
        case Kind.WITHDRAW_UNITS:
            return ngettext("withdraw %(units)d unit", "withdraw %(units)d units", units) % {"units": units}
        case Kind.UNITS_PER_BUYER:
            return _("units per buyer: %(units)d") % {"units": units}
        case Kind.PACE:
            return pace_text(change.units)
        case Kind.DRAW:
            return ngettext("draw %(units)d unit", "draw %(units)d units", units) % {"units": units}
        case Kind.RETURN_UNSOLD:
            returned = ngettext("return %(units)d unsold unit", "return %(units)d unsold units", units)
            return returned % {"units": units}
        case Kind.MOVE_END if change.closes_at:
            return _("move the closing time to %(time)s") % {"time": time_with_offset(change.closes_at)}
    return change.get_kind_display()


def pace_text(units: int | None) -> str:
    if units is None:
        return _("let in as many as orders and payments can take")
    return ngettext("let in %(units)d person a minute", "let in %(units)d people a minute", units) % {"units": units}


def reason_text(change: SaleChange) -> str:
    if change.kind == Kind.RETURN_UNSOLD:
        return _("The sale has ended.")
    if change.kind == Kind.DRAW:
        return _("The entries have closed.")
    return change.reason or _("no reason given")


def outcome_sentence(change: SaleChange) -> str:
    """The result of the change, in the reader's language."""
    if change.status == Status.PENDING:
        return _("Not applied yet: another process has the item, or the reservation store does not answer.")
    if change.kind == Kind.DRAW:
        count = int(change.outcome)
        return ngettext("%(count)d entry took part.", "%(count)d entries took part.", count) % {"count": count}
    word, *pairs = change.outcome.split() or [""]
    figures = dict(pair.partition("=")[::2] for pair in pairs)
    if word == "unlimited":
        return _("This item is unlimited.")
    if not {"held", "sold"} <= figures.keys():
        return change.outcome
    if word == "too_few_left":
        return _("Only %(left)s left (sold %(sold)s, held %(held)s). Nothing was changed.") % figures
    if "left" not in figures:
        return _("Sold %(sold)s, held %(held)s.") % figures
    return _("Sold %(sold)s, held %(held)s, left %(left)s.") % figures


def entry_to_report(changes: Sequence[SaleChange]) -> SaleChange:
    """The entry of a change to show to staff: a refused one first, then a pending one."""
    order = [Status.REFUSED, Status.PENDING, Status.APPLIED]
    return min(changes, key=lambda change: order.index(Status(change.status)))


def result_message(change: SaleChange) -> str:
    """The message for the person who made the change; for an item with its figures."""
    values = {
        "target": name_of(change.item) if change.kind in OF_ITEM else change.item.sale,
        "what": request_text(change),
        "outcome": outcome_sentence(change),
    }
    if change.status == Status.PENDING:
        return (
            _(
                "The change to “%(target)s” (%(what)s) is recorded. It takes effect by itself: in a moment, or as "
                "soon as the reservation store is available again."
            )
            % values
        )
    if change.status == Status.REFUSED:
        return _("The change to “%(target)s” (%(what)s) was refused. %(outcome)s") % values
    applied = applied_message(change)
    if change.kind in OF_ITEM:
        return _("%(applied)s %(outcome)s") % {"applied": applied, "outcome": values["outcome"]}
    return applied


def applied_message(change: SaleChange) -> str:
    units = change.units or 0
    values = {"target": name_of(change.item), "units": units}
    match change.kind:
        case Kind.ADD_UNITS:
            added = ngettext(
                "%(units)d unit was added to “%(target)s”.",
                "%(units)d units were added to “%(target)s”.",
                units,
            )
            return added % values
        case Kind.WITHDRAW_UNITS:
            withdrawn = ngettext(
                "%(units)d unit was withdrawn from “%(target)s”.",
                "%(units)d units were withdrawn from “%(target)s”.",
                units,
            )
            return withdrawn % values
        case Kind.UNITS_PER_BUYER:
            return _("The limit for “%(target)s” is now %(units)d per buyer.") % values
        case Kind.PAUSE:
            return _("The sale is paused.")
        case Kind.RESUME:
            return _("The sale has resumed.")
        case Kind.PAUSE_ITEM:
            return _("“%(target)s” is paused.") % values
        case Kind.RESUME_ITEM:
            return _("“%(target)s” has resumed.") % values
        case Kind.PACE:
            return _("The waiting room has a new pace: %(pace)s.") % {"pace": pace_text(change.units)}
        case Kind.MOVE_END if change.closes_at:
            return _("The sale now closes at %(time)s.") % {"time": time_with_offset(change.closes_at)}
    return _("The sale has ended.")
