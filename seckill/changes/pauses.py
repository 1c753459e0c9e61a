"""Pauses of a whole sale and of a single item, each with a note for buyers if staff wrote one.

An item sells only while neither is paused. Its note is kept in the journal, and beside its state in the store, where
pages and the API read it.
"""

import json

from django.db.models import Q

from seckill.items import item_state
from seckill.models import SaleChange
from seckill.store.client import StoreUnreachable
from shop.background import outages

Kind = SaleChange.Kind

OF_SALE = (Kind.PAUSE, Kind.RESUME)
OF_ITEM_ALONE = (Kind.PAUSE_ITEM, Kind.RESUME_ITEM)
PAUSES = frozenset({Kind.PAUSE, Kind.PAUSE_ITEM})
PAUSING = frozenset({*OF_SALE, *OF_ITEM_ALONE})


def pauses_of(item_id: int, *, with_change: SaleChange | None = None) -> list[SaleChange]:
    """The entries of the pauses that the item is in: its own, then its sale's.

    `with_change` is the next entry to be applied, which counts already. Entries of one item are applied in order.
    """
    counted = Q(status=SaleChange.Status.APPLIED) | Q(pk=with_change.pk if with_change else None)
    entries = SaleChange.objects.filter(counted, item_id=item_id).order_by("pk")
    last = [entries.filter(kind__in=kinds).last() for kinds in (OF_ITEM_ALONE, OF_SALE)]
    return [entry for entry in last if entry and entry.kind in PAUSES]


def state_after(change: SaleChange) -> str:
    """The item's state in the store once the change is applied. A sale that resumes leaves its paused items paused."""
    return "paused" if pauses_of(change.item_id, with_change=change) else "open"


def take_note_away(change: SaleChange) -> None:
    """Before the store applies a pause, so that no buyer reads the note of an earlier one. Raises StoreUnreachable."""
    if change.kind in PAUSING:
        item_state.set_pause_note(item_id=change.item_id, note="")


def put_note(item_id: int, *, with_change: SaleChange | None = None) -> None:
    """Put the note of the item's pause beside its state. A store that is full pauses, but takes no note."""
    if with_change and with_change.kind not in PAUSING:
        return
    note = next((entry.public_note for entry in pauses_of(item_id, with_change=with_change) if entry.public_note), None)
    if note is None:
        return
    try:
        item_state.set_pause_note(item_id=item_id, note=json.dumps(note))
    except StoreUnreachable as error:
        outages.wait(f"note of the pause of item {item_id}", error)
    else:
        outages.go_on(f"note of the pause of item {item_id}")
