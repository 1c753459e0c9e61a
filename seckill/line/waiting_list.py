"""The waiting list of an item: units that come back go to the first in line whom they are enough for.

What gives units back (orders/life/settlement.py, seckill/changes/journal.py) hands them on in the same atom. A sweep
does the rest, in further atoms: where one was too small, after a pause, and after an old process or a repair has given
units back. Meanwhile reserve.lua keeps such units from newcomers.

The line is in the reservation store alone. A hold that comes from it is a reservation like another.
"""

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from seckill.items.loop import for_each_item
from seckill.ledger_words import HandedOn
from seckill.line import line_ledger
from seckill.models import SaleItem, movable_items
from seckill.store import scripts

# A sweep comes again in a second.
ATOMS_MAX = 100


def items_with_line() -> QuerySet[SaleItem]:
    """Items of which units can come back, in sales with a waiting list."""
    return movable_items().filter(sale__waiting_list=True, quantity__isnull=False)


def then_hand_on(item_id: int) -> scripts.Then | None:
    """The call that belongs into one atom with one that gives back units; None if the item has no waiting list."""
    has_line = SaleItem.objects.filter(pk=item_id, sale__waiting_list=True, quantity__isnull=False).exists()
    return line_ledger.handing_on(item_id) if has_line else None


def hand_on_all(item_id: int) -> int:
    """Hand on what is left. Returns the number of atoms that gave something. Raises StoreUnreachable."""
    for atoms in range(ATOMS_MAX):
        word = line_ledger.hand_on(item_id=item_id)
        if word is HandedOn.NO_LINE:
            line_ledger.open_line(item_id=item_id)
        elif word is not HandedOn.HANDED_ON:
            return atoms
    return ATOMS_MAX


def sweep_lines() -> int:
    """Hand on what lies idle, of all items. Returns the number of atoms. Raises StoreUnreachable."""
    item_ids = list(items_with_line().filter(sale__closes_at__gt=Now()).values_list("pk", flat=True))
    counts, _ = for_each_item(hand_on_all, item_ids=item_ids, event="units_not_handed_on")
    return sum(counts.values())


def ended_lines() -> QuerySet[SaleItem]:
    """Items whose sale has ended since those in line were last told so."""
    untold = Q(line_ended_at=None) | Q(line_ended_at__lt=F("sale__closes_at"))
    return items_with_line().filter(untold, sale__closes_at__lte=Now())


def open_lost_line(item_id: int) -> None:
    """Before an item that was rebuilt is on sale again: newcomers must not take what those in line could have."""
    if then_hand_on(item_id):
        line_ledger.open_line(item_id=item_id)
