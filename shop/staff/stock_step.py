"""Changes of a stock by staff: to a count, or by a number. For the form and for imported tables.

A count is refused if the stock has changed since the person saw it: only they know whether the units that
moved meanwhile are in the count. A change by a number means the same after other moves, so it is always applied, once:
a form or a table has a token, and sent again it changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from shop.models import StockChange, TakenStep, Variant
from shop.stock.movements import UNITS_MAX, Move, lock, move_all

Kind = StockChange.Kind
# A double click, a lost answer and a table that is loaded again come within days.
TOKENS_KEPT = timedelta(days=30)
# One batch of the sweep; the next one follows at once.
BATCH_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Count:
    """So many units are there, those of open checkouts included. `seen` is the figure shown to the person, if any."""

    units: int
    seen: int | None


@dataclass(frozen=True, slots=True)
class Difference:
    """So many units more, or fewer."""

    units: int


class StockRefused(Exception):
    """The step would break a rule, or is taken already, and nothing has changed. The message is for staff."""


@dataclass(frozen=True, slots=True)
class WantedStep:
    """A step of one variant, and the reason for the journal."""

    variant_id: int
    step: Count | Difference
    reason: str


def take(
    step: Count | Difference, *, variant_id: int, reason: str, made_by: User | None, token: UUID | None = None
) -> None:
    """Change the stock and write it to the journal. Raises StockRefused."""
    take_all([WantedStep(variant_id, step, reason)], made_by=made_by, token=token)


def take_all(wanted: Sequence[WantedStep], *, made_by: User | None, token: UUID | None = None) -> None:
    """All steps, one after the other, or none. Raises StockRefused, also if this token was taken before."""
    moves = []
    with transaction.atomic():
        variants = {variant.pk: variant for variant in lock({each.variant_id for each in wanted})}
        if token is not None and not TakenStep.objects.get_or_create(token=token)[1]:
            raise StockRefused(_("This was sent before, and its changes of the stock are not made twice."))
        for each in wanted:
            variant = variants[each.variant_id]
            if refusal := refusal_of(each.step, variant):
                raise StockRefused(refusal)
            kind, units = Kind.CHANGED, units_of(each.step, variant)
            if isinstance(each.step, Count):
                kind = Kind.COUNTED
            # For the steps of the same variant that follow.
            variant.available += units
            moves.append(Move(kind=kind, units_of={variant.pk: units}, reason=each.reason, made_by=made_by))
        move_all(moves)


def is_taken(token: UUID | None) -> bool:
    return token is not None and TakenStep.objects.filter(token=token).exists()


def forget_old_tokens() -> int:
    """Forget one batch of tokens that are not sent again. Returns how many."""
    old = TakenStep.objects.filter(taken_at__lt=Now() - TOKENS_KEPT).values_list("pk", flat=True)
    count, _rows = TakenStep.objects.filter(pk__in=list(old[:BATCH_MAX])).delete()
    return count


def units_of(step: Count | Difference, variant: Variant) -> int:
    """How many units more, or fewer, are available after the step."""
    return step.units - variant.held - variant.available if isinstance(step, Count) else step.units


def refusal_of(step: Count | Difference, variant: Variant) -> str | None:
    """Why the step cannot be taken; None where it can."""
    if isinstance(step, Difference):
        if step.units > 0 and variant.available + variant.held + step.units > UNITS_MAX:
            return too_many()
        if variant.available + step.units < 0:
            return _("Only %(available)d units are available; checkouts hold %(held)d more.") % {
                "available": variant.available,
                "held": variant.held,
            }
        return None
    now = variant.available + variant.held
    if step.units > UNITS_MAX:
        return too_many()
    if step.seen not in (None, now):
        return _(
            "The stock has changed from %(seen)d to %(now)d in the meantime. Check your count and save again, or "
            "change the stock by a number."
        ) % {"seen": step.seen, "now": now}
    if step.units < variant.held:
        return _("Checkouts hold %(held)d units, so the stock cannot be lower.") % {"held": variant.held}
    return None


def too_many() -> str:
    return _("A stock has at most %(max)d units, with those that checkouts hold.") % {"max": UNITS_MAX}
