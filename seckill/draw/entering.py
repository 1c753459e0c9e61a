"""Entering a draw and withdrawing, until the entries close. One entry for an account and item.

Each change locks the draw's row for sharing, and the close locks it alone: no entry is added once the hash is fixed.
The clock is that of PostgreSQL.
"""

from dataclasses import dataclass
from enum import StrEnum

from django.db import connection, transaction

from seckill.guards.buyer_networks import buyer_networks
from seckill.guards.pass_guards import GuardedCall, GuardRefused, check_entry
from seckill.live.answer_counts import answer_counts
from seckill.models import Draw, DrawEntry, Sale, SaleItem
from seckill.passes.passes import new_reservation_id

LOCK_OPEN_DRAW = f"""
SELECT 1 FROM {Draw._meta.db_table} AS draw JOIN {Sale._meta.db_table} AS sale ON sale.id = draw.sale_id
WHERE draw.sale_id = %s AND draw.closed_at IS NULL AND sale.opens_at > clock_timestamp() FOR SHARE OF draw
"""


class EntryWord(StrEnum):
    """The answers to an attempt to enter, in the order of the checks."""

    ENTRIES_CLOSED = "entries_closed"
    ALREADY_ENTERED = "already_entered"
    TOO_MANY_UNITS = "too_many_units"
    ENTERED = "entered"


@dataclass(frozen=True, slots=True)
class EntryAnswer:
    word: EntryWord
    entry: DrawEntry | None = None


def enter(*, item: SaleItem, buyer_id: int, units: int, network: str = "") -> EntryAnswer:
    """Enter the account, or find the entry that it has, which stays as it is: to change its units, withdraw first.

    `network` is the client's; empty if there is none.
    """
    with transaction.atomic():
        if not lock_open_draw(item.sale_id):
            found = find_entry(item_id=item.pk, buyer_id=buyer_id)
            return EntryAnswer(EntryWord.ALREADY_ENTERED if found else EntryWord.ENTRIES_CLOSED, found)
        if found := find_entry(item_id=item.pk, buyer_id=buyer_id):
            return EntryAnswer(EntryWord.ALREADY_ENTERED, found)
        if units > item.per_buyer_max:
            return EntryAnswer(EntryWord.TOO_MANY_UNITS)
        reservation_id = new_reservation_id(item.pk)
        entry, created = DrawEntry.objects.get_or_create(
            item=item, buyer_id=buyer_id, defaults={"units": units, "reservation_id": reservation_id}
        )
    if created and network:
        buyer_networks.note(sale=item.sale, buyer_id=buyer_id, network=network)
    return EntryAnswer(EntryWord.ENTERED if created else EntryWord.ALREADY_ENTERED, entry)


def why_refused(call: GuardedCall | None, *, item: SaleItem, units: int) -> GuardRefused | None:
    """The rule of the sale that refuses an entry, which is counted; None if none does.

    No rule is asked where `enter` makes no entry: the account would be counted for its network and device.
    """
    if call is None or not 1 <= units <= item.per_buyer_max or find_entry(item_id=item.pk, buyer_id=call.buyer_id):
        return None
    try:
        check_entry(call)
    except GuardRefused as error:
        answer_counts.add(item.pk, error.guard.value)
        return error
    return None


def withdraw(*, item: SaleItem, buyer_id: int) -> bool:
    """Remove the account's entry. False if the entries have closed; true also where there was none."""
    with transaction.atomic():
        if not lock_open_draw(item.sale_id):
            return False
        DrawEntry.objects.filter(item=item, buyer_id=buyer_id).delete()
    return True


def find_entry(*, item_id: int, buyer_id: int) -> DrawEntry | None:
    return DrawEntry.objects.filter(item_id=item_id, buyer_id=buyer_id).first()


def lock_open_draw(sale_id: int) -> bool:
    """Keep the entries open until the end of the transaction. False if they have closed, or there is no draw."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_OPEN_DRAW, [sale_id])
        return cursor.fetchone() is not None
