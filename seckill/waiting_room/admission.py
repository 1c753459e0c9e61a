"""Moves the lines of waiting rooms: each second it looks at a sale and at who is there, and calls the next places.

Any process may do it, and several at once: admit.lua decides by the store's clock, and refuses a caller who has not
seen the last call. PostgreSQL has a note of the counts, with which a room is made again that the store has lost.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from seckill import ledger
from seckill.items.loop import for_each_item
from seckill.models import LAST_HOLD_ENDS_AT, Sale, WaitingRoom
from seckill.phase import Phase
from seckill.store.keys import room_id
from seckill.waiting_room.permutation import arrival_at
from seckill.waiting_room.presence import read_present
from seckill.waiting_room.room_ledger import (
    Admitted,
    Room,
    RoomState,
    Terms,
    admit,
    open_room,
    read_room,
    remove_room,
)
from shop.times.timestamps import to_ms

# People a minute where staff have set no pace: fifty a second, of whom each makes some ten calls. Intake was measured
# at a multiple of that; a backlog slows the line down, in proportion, to one a second.
PACE_MAX = 3_000
PACE_MIN = 60
# The backlog at which the line is slowest. Intake needs some ten seconds for it.
BACKLOG_FULL = 5_000
# How many places one call looks at, and how many calls a room gets at a time: the others come a second later.
WINDOW_MIN, WINDOW_MAX = 100, 5_000
WINDOWS_MAX = 20
# After the end a room says for so long that it is over. It leaves the store when the report has kept its sums, a day
# after the last hold has ended; these count from there too.
CLOSED_FOR = timedelta(hours=1)
REMOVED_AFTER, REMOVED_UNTIL = timedelta(days=2), timedelta(days=8)


def move_rooms(*, backlog: Callable[[], int]) -> int:
    """Move the line of each room. `backlog` counts the work that waits behind intake, and is called if there is a room.
    Returns how many places were called.

    A room that cannot be moved is logged and does not stop the others. Raises StoreUnreachable.
    """
    sales = {room_id(sale.pk): sale for sale in moving_sales()}
    behind = backlog() if sales else 0
    counts, _broken = for_each_item(
        lambda number: move_room(sales[number], backlog=behind), item_ids=sales, event="room_not_moved"
    )
    return sum(counts.values())


def moving_sales() -> QuerySet[Sale]:
    """The sales whose rooms are open, or have closed a moment ago."""
    lead = timedelta(seconds=settings.SECKILL_PASS_LEAD_SECONDS)
    found = Sale.objects.filter(published_at__isnull=False, admission=Sale.Admission.WAITING_ROOM)
    found = found.filter(opens_at__lte=Now() + lead, closes_at__gt=Now() - CLOSED_FOR)
    return found.select_related("waiting_room").prefetch_related("items")


def move_room(sale: Sale, *, backlog: int) -> int:
    """Call the next places of one room, and note its counts. Returns how many places were called."""
    room = read_room(sale_id=sale.pk)
    if room is None:
        items = items_of(sale)
        # A room that was lost is made again once all items are known: with too few reservations, those made before
        # would count as made by the people who are called next, and more would be called than units are left.
        if None not in items or not sale.waiting_room.called:
            open_room(sale_id=sale.pk, terms=terms_of(sale, reservations=reservations_of(items)))
        return 0
    called = room.called
    if room.now_ms >= room.opens_ms:
        called = call_next(sale, room, backlog=backlog)
    note_counts(sale.waiting_room, arrivals=room.arrivals, early=room.early, called=called)
    return called - room.called


def terms_of(sale: Sale, *, reservations: int) -> Terms:
    """The room's terms, with the counts that PostgreSQL has noted. People bring their arrivals back themselves."""
    noted = sale.waiting_room
    key = bytes.fromhex(noted.key)
    return Terms(
        to_ms(sale.opens_at),
        key,
        arrivals=noted.arrivals,
        early=noted.early,
        called=noted.called,
        reservations=reservations,
    )


def items_of(sale: Sale) -> list[ledger.Counters | None]:
    """None for an item that is not there, not verified, or of a server that is silent."""
    counters = ledger.read_many(item_ids=[item.pk for item in sale.items.all()])
    return [counters.get(item.pk) for item in sale.items.all()]


def reservations_of(items: Sequence[ledger.Counters | None]) -> int:
    return sum(one.reservations for one in items if one is not None)


def call_next(sale: Sale, room: Room, *, backlog: int) -> int:
    """Returns how many places are called now."""
    items = items_of(sale)
    known = [one for one in items if one is not None]
    state = state_of(items)
    left = units_left(items, state=state)
    pace = sale.pace or pace_for(backlog + sum(one.backlog for one in known))
    has_asked, called = read_present(sale_id=sale.pk, now_ms=room.now_ms), room.called
    # People who came since the last sweep are there, though no process may have noted it yet.
    known_arrivals = sale.waiting_room.arrivals
    for _window in range(WINDOWS_MAX):
        looked_at = min(max(room.arrivals - called, 0), min(max(WINDOW_MIN, pace // 15), WINDOW_MAX))
        arrivals = [
            arrival_at(place, early=room.early or 0, key=room.key) for place in range(called, called + looked_at)
        ]
        present = [
            number
            for number, arrival in enumerate(arrivals, start=1)
            if has_asked(arrival) or arrival >= known_arrivals
        ]
        word, now_called = admit(
            sale_id=sale.pk,
            called_before=called,
            looked_at=looked_at,
            present=present,
            pace=pace,
            state=state,
            left=left,
            reservations=reservations_of(items),
            all_known=None not in items,
        )
        if word is not Admitted.ADMITTED:
            # Another process was first, and has seen the same sale.
            return called
        is_through, called = looked_at > 0 and now_called == called + looked_at, now_called
        if not is_through:
            break
    return called


def state_of(items: Sequence[ledger.Counters | None]) -> RoomState:
    """Why nobody is called, in a word. An item that the store cannot say anything about now may sell again soon."""
    if not items or any(one is None for one in items):
        return RoomState.PAUSED
    known = [one for one in items if one is not None]
    if all(one.phase is Phase.ENDED for one in known):
        return RoomState.CLOSED
    unsold = [one for one in known if one.left is None or one.left > 0 or one.held > 0]
    if not unsold:
        return RoomState.SOLD_OUT
    # While only items that are paused have units, the line waits for them.
    return RoomState.OPEN if any(one.phase is Phase.OPEN for one in unsold) else RoomState.PAUSED


def units_left(items: Sequence[ledger.Counters | None], *, state: RoomState) -> int | None:
    """Those that people may be called for: none of an item that is paused alone. While nobody is called, all of them.

    None if there is no end of them, or if the store cannot say it now.
    """
    counted = [one for one in items if state is not RoomState.OPEN or one is not None and one.phase is Phase.OPEN]
    lefts = [one.left for one in counted if one is not None and one.left is not None]
    return sum(lefts) if len(lefts) == len(counted) else None


def pace_for(backlog: int) -> int:
    """People a minute, by what waits to be written and settled."""
    return max(PACE_MIN, PACE_MAX * max(BACKLOG_FULL - backlog, 0) // BACKLOG_FULL)


def note_counts(noted: WaitingRoom, *, arrivals: int, early: int | None, called: int) -> None:
    """In PostgreSQL, where they have changed. Counts never go back: a room that was just made again may be behind."""
    arrivals, called = max(arrivals, noted.arrivals), max(called, noted.called)
    early = early if noted.early is None else noted.early
    if (arrivals, early, called) != (noted.arrivals, noted.early, noted.called):
        WaitingRoom.objects.filter(pk=noted.pk).update(arrivals=arrivals, early=early, called=called)


def remove_old_rooms() -> int:
    """Take rooms out of the store, two days after the last hold. Returns how many sales were looked at."""
    found = Sale.objects.filter(admission=Sale.Admission.WAITING_ROOM, published_at__isnull=False)
    ended = found.alias(held_until=LAST_HOLD_ENDS_AT).filter(
        held_until__lt=Now() - REMOVED_AFTER, held_until__gt=Now() - REMOVED_UNTIL
    )
    numbers = {room_id(pk): pk for pk in ended.values_list("pk", flat=True)}
    counts, _broken = for_each_item(
        lambda number: remove_room(sale_id=numbers[number]), item_ids=numbers, event="room_not_removed"
    )
    return len(counts)
