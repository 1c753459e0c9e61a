"""Carries out draws: closes the entries, draws, and gives the units in the drawn order. Called each second.

Each step is one transaction behind a lock of the draw's row, or an idempotent call of the ledger: a process may be
killed anywhere, and several may do it at once. Winners are written down before their units are reserved, so a repeated
sweep reserves for the same entries, under the same reservation ids.
"""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from seckill import ledger
from seckill.draw.drawing import Drawn, Entry, draw_entries, entries_sha256, file_text
from seckill.items import item_state
from seckill.items.loop import for_each_item, until
from seckill.models import LONGEST_HOLD, Draw, DrawEntry, SaleChange, SaleItem
from seckill.outbox import doorbell
from seckill.outcomes import Outcome
from seckill.phase import Phase
from shop import failpoints

log = structlog.get_logger(__name__)

Status = DrawEntry.Status

# How many entries are looked at, or reserved for, at a time.
BATCH_MAX = 200
# How many batches an item gets in one sweep: the others come a second later.
BATCHES_MAX = 20
# After this long no further item has its turn. The first batches of a large draw are thousands of calls for each item,
# and units of expired orders wait for the same process.
SECONDS_MAX = 10.0
# A sale whose end was an hour ago gives nothing more. Its winners may still pay; those without units are still told.
CLOSED_FOR = timedelta(hours=1)

HELD = (Outcome.RESERVED, Outcome.ALREADY_RESERVED, Outcome.HOLD_ENDED)
# The store or the sale is not ready, or nothing is left: none of those that follow gets units now.
FOR_NOBODY = (Outcome.UNAVAILABLE, Outcome.PAUSED, Outcome.NOT_OPEN, Outcome.SOLD_OUT, Outcome.HELD_BY_OTHERS)

WRITE_RESULTS = f"""
UPDATE {DrawEntry._meta.db_table} AS entry SET place = drawn.place, won_at_draw = drawn.won,
    status = CASE WHEN drawn.won THEN '{Status.WON}' ELSE '{Status.NOT_WON}' END
FROM unnest(%s::uuid[], %s::int[], %s::bool[]) AS drawn (entry_id, place, won)
WHERE entry.entry_id = drawn.entry_id AND entry.place IS NULL
"""


def carry_out_draws() -> int:
    """Do what is due in every draw. Returns for how many entries units were reserved. Raises StoreUnreachable."""
    due = Draw.objects.filter(drawn_at=None, sale__opens_at__lte=Now(), sale__closes_at__gt=Now() - LONGEST_HOLD)
    for sale_id in list(due.values_list("pk", flat=True)):
        try:
            # The hash is public for a second before the seed is.
            if not close_entries(sale_id=sale_id):
                draw_now(sale_id=sale_id)
        except Exception:
            if not connection.is_usable():
                raise
            log.exception("draw_not_carried_out", sale_id=sale_id)
    end_without_store()
    item_ids = until(time.monotonic() + SECONDS_MAX, items_to_give())
    counts, _broken = for_each_item(give_units, item_ids=item_ids, event="draw_units_not_given")
    return sum(counts.values())


def items_to_give() -> list[int]:
    """The items of drawn sales that are not over: an entry of theirs may win now or later.

    After the end also those with winners of whom the store, which was away, has not said whether it holds their units.
    """
    drawn = SaleItem.objects.filter(sale__draw__drawn_at__isnull=False, announced_at__isnull=False, archived_at=None)
    found = drawn.filter(Q(sale__closes_at__gt=Now() - CLOSED_FOR) | Q(pk__in=undecided().values("item")))
    return list(found.order_by("pk").values_list("pk", flat=True))


def undecided() -> QuerySet[DrawEntry]:
    """The winners that are not known to have units. None of them was told yet, so there is an index of them."""
    return DrawEntry.objects.filter(status=Status.WON, reserved_at=None, told_at=None)


def end_without_store() -> None:
    """After the end nobody wins an item that the store never had, or that has left it with all its orders written."""
    not_there = SaleItem.objects.filter(Q(announced_at=None) | Q(archived_at__isnull=False))
    over = not_there.filter(sale__closes_at__lte=Now() - CLOSED_FOR)
    undecided().filter(item__in=over.values("pk")).update(status=Status.NOT_WON)


def close_entries(*, sale_id: int) -> bool:
    """Fix the entries: their hash and the units of the items are public from this commit on, the seed is not yet.

    False if they were fixed before.
    """
    with transaction.atomic():
        draw = Draw.objects.select_for_update(of=("self",)).get(pk=sale_id)
        if draw.closed_at is not None:
            return False
        draw.entries_sha256 = entries_sha256(entries_of(sale_id))
        quantities = SaleItem.objects.filter(sale=sale_id).values_list("pk", "quantity")
        draw.units = {str(pk): quantity for pk, quantity in quantities}
        draw.closed_at = timezone.now()
        draw.save(update_fields=["entries_sha256", "units", "closed_at"])
        failpoints.reach("draw.before_closed")
    return True


def draw_now(*, sale_id: int) -> bool:
    """Write the place of each entry and whether it has won, and publish the seed, in one transaction.

    False if it was drawn before. Raises EntriesChanged.
    """
    with transaction.atomic():
        draw = Draw.objects.select_for_update(of=("self",)).get(pk=sale_id)
        if draw.drawn_at is not None:
            return False
        entries = entries_of(sale_id)
        if entries_sha256(entries) != draw.entries_sha256:
            raise EntriesChanged(f"the entries of sale {sale_id} are not those whose hash was published")
        units = {int(item): quantity for item, quantity in draw.units.items()}
        drawn = draw_entries(entries, seed=draw.seed, units=units)
        write_results(drawn)
        note_in_journal(drawn, item_ids=list(units))
        draw.file = file_text(sale_id=sale_id, seed=draw.seed, units=units, drawn=drawn)
        draw.drawn_at = timezone.now()
        draw.save(update_fields=["file", "drawn_at"])
        failpoints.reach("draw.before_drawn")
    failpoints.reach("draw.after_drawn")
    return True


class EntriesChanged(Exception):
    """Somebody has changed rows in the database between the end of the entries and the draw. A person must look."""


def entries_of(sale_id: int) -> list[Entry]:
    rows = DrawEntry.objects.filter(item__sale=sale_id).values_list("item_id", "entry_id", "units")
    return [Entry(item, str(entry_id), units) for item, entry_id, units in rows]


def write_results(drawn: Sequence[Drawn]) -> None:
    columns: list[Any] = [[one.entry_id for one in drawn], [one.place for one in drawn], [one.won for one in drawn]]
    with connection.cursor() as cursor:
        cursor.execute(WRITE_RESULTS, columns)


def note_in_journal(drawn: Sequence[Drawn], *, item_ids: Sequence[int]) -> None:
    """One entry for each item, applied at once: nothing of it is told to the store as a change."""
    for item_id in item_ids:
        of_item = [one for one in drawn if one.item == item_id]
        SaleChange.objects.create(
            item_id=item_id,
            kind=SaleChange.Kind.DRAW,
            units=sum(one.units for one in of_item if one.won),
            reason="The entries have closed.",
            status=SaleChange.Status.APPLIED,
            finished_at=timezone.now(),
            outcome=str(len(of_item)),
        )


def give_units(item_id: int) -> int:
    """Reserve for the winners, then for the next in the drawn order as long as units are free. Returns for how many."""
    given = 0
    for _batch in range(BATCHES_MAX):
        given += reserve_for_winners(item_id)
        if not choose_next(item_id):
            break
    return given


def winners_without_units(item_id: int) -> QuerySet[DrawEntry]:
    return DrawEntry.objects.filter(item=item_id, status=Status.WON, reserved_at=None).order_by("place")


def reserve_for_winners(item_id: int) -> int:
    """Returns for how many entries the store holds units now that were not known to have any."""
    count, after = 0, 0
    for _batch in range(BATCHES_MAX):
        batch = list(winners_without_units(item_id).filter(place__gt=after)[:BATCH_MAX])
        if not batch:
            break
        after = batch[-1].place or 0
        outcomes = reserve_batch(batch)
        failpoints.reach("draw.after_reserve")
        count += note_outcomes(outcomes)
        if len(outcomes) < len(batch):
            break
    if count:
        doorbell.request_drain(item_id)
    return count


def reserve_batch(batch: Sequence[DrawEntry]) -> dict[int, Outcome]:
    """The store's answer for each entry, up to the first after which the others need not be asked for.

    Where staff have withdrawn units, a winner waits for the first that are enough. The store answers `paused` also
    after the end; then the answer here is `closed`. Whether the sale is over is read first: an entry that has no hold
    after that gets none.
    """
    outcomes: dict[int, Outcome] = {}
    figures = ledger.read(item_id=batch[0].item_id)
    is_over = figures is not None and figures.phase is Phase.ENDED
    for entry in batch:
        answer = ledger.reserve(
            item_id=entry.item_id, reservation_id=entry.reservation_id, buyer_id=entry.buyer_id, units=entry.units
        )
        outcome = Outcome.CLOSED if is_over and answer.outcome is Outcome.PAUSED else answer.outcome
        if outcome in FOR_NOBODY:
            break
        outcomes[entry.pk] = outcome
    return outcomes


def note_outcomes(outcomes: dict[int, Outcome]) -> int:
    """Returns how many of the entries are held."""

    def noted(meant: Sequence[Outcome], **changes: Any) -> int:
        pks = [pk for pk, outcome in outcomes.items() if outcome in meant]
        found = DrawEntry.objects.filter(pk__in=pks, status=Status.WON, reserved_at=None)
        return found.update(**changes) if pks else 0

    # Staff have lowered the units per buyer since, or the sale is over.
    noted([Outcome.LIMIT_REACHED, Outcome.CLOSED], status=Status.NOT_WON)
    return noted(HELD, reserved_at=Now())


def choose_next(item_id: int) -> int:
    """Let the next entries in the drawn order win that the free units suffice for. Returns how many.

    One process at a time, and only when the free units are enough for no earlier winner: so they are free.
    """
    with transaction.atomic():
        drawn = Draw.objects.select_for_update(skip_locked=True, of=("self",)).filter(sale__items=item_id)
        if not list(drawn.values_list("pk")):
            return 0
        waiting = DrawEntry.objects.filter(item=item_id, status=Status.NOT_WON, buyer__is_active=True)
        if not waiting.exists():
            return 0
        counters = ledger.read(item_id=item_id)
        if counters is None or counters.phase is not Phase.OPEN or (counters.left is not None and counters.left <= 0):
            return 0
        chosen, left = [], counters.left
        most = counters.per_buyer_max if left is None else min(left, counters.per_buyer_max)
        if winners_without_units(item_id).filter(units__lte=most).exists() or ask_again_for_lost(item_id):
            return 0
        fitting = waiting.filter(units__lte=most)
        for pk, units in fitting.order_by("place").values_list("pk", "units")[:BATCH_MAX]:
            if left is None or units <= left:
                left = None if left is None else left - units
                chosen.append(pk)
        count = waiting.filter(pk__in=chosen).update(status=Status.WON, told_at=None)
        failpoints.reach("draw.before_chosen")
    return count


def ask_again_for_lost(item_id: int) -> int:
    """The store may have lost what it held for winners before there were orders: the free units are theirs.

    Winners who were told have orders. Returns how many others are without units again.
    """
    untold = DrawEntry.objects.filter(item=item_id, status=Status.WON, reserved_at__isnull=False, told_at=None)
    lost = item_state.unknown_of(item_id=item_id, reservation_ids=list(untold.values_list("reservation_id", flat=True)))
    return untold.filter(reservation_id__in=lost).update(reserved_at=None) if lost else 0
