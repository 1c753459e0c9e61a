"""The scripts of the waiting list as Python functions: open_line, join_line, leave_line, hand_on. Also reads places.

As in seckill/ledger.py, expected answers are words, and StoreUnreachable is raised where the store does not answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from redis import Redis

from seckill.ledger import ask_for_yes
from seckill.ledger_words import Departed, HandedOn, Joined, LineOpened
from seckill.store import scripts
from seckill.store.client import ask, ask_for_each
from seckill.store.keys import keys_of

# The most units that a buyer can wait for: hand_on.lua looks at the part of the line for each number of units.
WAITING_UNITS_MAX = 10
# A place takes the store some 250 bytes.
PLACES_MAX = 100_000
# So many buyers get units in one atom.
PEOPLE_MAX = 10
# The score of a place is its units times this, plus the number of its arrival.
SHIFT = 2**40
# The field of the places that counts them.
ARRIVALS = "arrivals"


@dataclass(frozen=True, slots=True)
class JoinAnswer:
    """`reservation_id` and `units` are those of the buyer's place, for `joined` and `already_waiting`.

    `opens_in_ms` is the time until the opening, for `not_open`. `remaining` is how many of `per_buyer_max` units the
    buyer can still have, for `limit_reached`.
    """

    word: Joined
    reservation_id: UUID | None = None
    units: int = 0
    opens_in_ms: int = 0
    remaining: int = 0
    per_buyer_max: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """A buyer's place in the line of an item; `ahead` is how many came before."""

    reservation_id: UUID
    units: int
    ahead: int


@dataclass(frozen=True, slots=True)
class LineLook:
    """What the store has of a line: `buyers` in it, `places` beside it, and for how few units somebody waits.

    `noted` is what the item says of that, which reserve.lua believes. None: nobody waits.
    """

    buyers: int
    places: int
    smallest: int | None
    noted: int | None


def open_line(*, item_id: int) -> LineOpened:
    """Give the item a waiting list. Repeat it after the item was rebuilt: its line is still there."""
    keys = keys_of(item_id)
    answer = ask(lambda client: scripts.OPEN_LINE.run(client, keys=[keys.item, keys.line], args=["1"]), item_id=item_id)
    return LineOpened(answer[0])


def join_line(*, item_id: int, reservation_id: UUID, buyer_id: int, units: int) -> JoinAnswer:
    """Give the buyer a place, or say why not. Idempotent by `reservation_id`; a buyer has one place of an item.

    Where yeses wait for replicas, a place does too.
    """
    keys = keys_of(item_id)
    slots = (keys.item, keys.buyers, keys.holds, keys.line, keys.places)
    args: list[scripts.Argument] = [str(reservation_id), buyer_id, units, PLACES_MAX]
    new, repeated = Joined.JOINED, Joined.ALREADY_WAITING
    word, *more = ask_for_yes(scripts.JOIN_LINE, item_id=item_id, keys=slots, args=args, new=new, repeated=repeated)
    if word == Joined.NOT_OPEN:
        return JoinAnswer(Joined(word), opens_in_ms=int(more[0]))
    if word == Joined.LIMIT_REACHED:
        return JoinAnswer(Joined(word), remaining=int(more[0]), per_buyer_max=int(more[1]))
    if not more:
        return JoinAnswer(Joined(word))
    return JoinAnswer(Joined(word), reservation_id=UUID(more[0]), units=int(more[1]))


def leave_line(*, item_id: int, reservation_id: UUID, buyer_id: int) -> Departed:
    """Give the place up. Idempotent."""
    keys = keys_of(item_id)
    slots, args = [keys.item, keys.line, keys.places], (str(reservation_id), buyer_id)
    answer = ask(lambda client: scripts.LEAVE_LINE.run(client, keys=slots, args=args), item_id=item_id)
    return Departed(answer[0])


def hand_on(*, item_id: int, people_max: int = PEOPLE_MAX) -> HandedOn:
    """Give units that are left to those who wait, one atom. Call again after `handed_on`: more may be left."""
    call = handing_on(item_id, people_max=people_max)
    return HandedOn(ask(lambda client: scripts.HAND_ON.run(client, keys=call.keys, args=call.args), item_id=item_id)[0])


def handing_on(item_id: int, *, people_max: int = PEOPLE_MAX) -> scripts.Then:
    """The same, to be in one atom with what gives units back."""
    keys = keys_of(item_id)
    slots = [keys.item, keys.buyers, keys.holds, keys.outbox, keys.latest, keys.line, keys.places]
    return scripts.Then(scripts.HAND_ON, slots, [settings.SECKILL_BACKLOG_MAX, people_max])


def find_place(*, item_id: int, buyer_id: int) -> Place | None:
    """The buyer's place; None if there is none. The cost does not grow with the line."""

    def read(client: Redis) -> Place | None:
        keys = keys_of(item_id)
        pipeline = client.pipeline(transaction=True)
        pipeline.hget(keys.places, str(buyer_id))
        pipeline.zscore(keys.line, str(buyer_id))
        value, score = pipeline.execute()
        if value is None or score is None:
            return None
        reservation_id, units = parts_of(value)
        arrival = int(score) % SHIFT
        for size in range(1, WAITING_UNITS_MAX + 1):
            pipeline.zcount(keys.line, size * SHIFT, f"({size * SHIFT + arrival}")
        return Place(reservation_id, units, ahead=sum(pipeline.execute()))

    return ask(read, item_id=item_id)


def places_of(*, item_ids: Sequence[int], buyer_id: int) -> dict[int, UUID | None]:
    """The id of the buyer's place in the line of each item; None where there is none.

    One round trip for each server. Items of a server that is silent are missing.
    """
    found = ask_for_each(
        lambda pipeline, item_id: pipeline.hget(keys_of(item_id).places, str(buyer_id)), item_ids=item_ids
    )
    return {item_id: parts_of(place)[0] if place else None for item_id, place in found.items()}


def ids_in_line(*, item_id: int, buyer_ids: Mapping[UUID, int]) -> set[UUID]:
    """Those of the reservation ids, given with their buyers, that are also the id of the buyer's place.

    Their holds, though ended, must stay: else hand_on.lua would give units under an id that has an order already.
    No such place comes later, since a pass that has a hold cannot join.
    """
    if not buyer_ids:
        return set()
    names = [str(buyer_id) for buyer_id in buyer_ids.values()]
    places: list[Any] = ask(lambda client: client.hmget(keys_of(item_id).places, names), item_id=item_id)
    pairs = zip(buyer_ids, places, strict=True)
    return {name for name, place in pairs if place and place.startswith(f"{name}:".encode())}


def look(*, item_id: int) -> LineLook:
    """One reading of the whole line, in an atom."""

    def read(client: Redis) -> LineLook:
        keys = keys_of(item_id)
        pipeline = client.pipeline(transaction=True)
        pipeline.zcard(keys.line)
        pipeline.hlen(keys.places)
        pipeline.hexists(keys.places, ARRIVALS)
        pipeline.zrange(keys.line, 0, 0, withscores=True)
        pipeline.hget(keys.item, "smallest_waiting")
        buyers, places, has_arrivals, first, noted = pipeline.execute()
        smallest = int(first[0][1]) // SHIFT if first else None
        return LineLook(buyers, places - has_arrivals, smallest, int(noted) if noted and noted.isdigit() else None)

    return ask(read, item_id=item_id)


def count_waiting(*, item_ids: Sequence[int]) -> dict[int, int]:
    """How many wait for each item. Items of a server that is silent are missing."""
    return ask_for_each(lambda pipeline, item_id: pipeline.zcard(keys_of(item_id).line), item_ids=item_ids)


def portion_of_places(*, item_id: int, cursor: int, count: int) -> tuple[int, dict[int, tuple[UUID, int]]]:
    """Some places: by buyer, the reservation id and the units; and where the next portion begins, 0 after the last."""
    answer: Any = ask(lambda client: client.hscan(keys_of(item_id).places, cursor, count=count), item_id=item_id)
    return answer[0], {int(buyer): parts_of(place) for buyer, place in answer[1].items() if buyer != ARRIVALS.encode()}


def remove_line(*, item_id: int) -> None:
    """Delete the line and all places, of an item whose sale is long over."""
    ask(lambda client: client.unlink(keys_of(item_id).line, keys_of(item_id).places), item_id=item_id)


def parts_of(place: bytes) -> tuple[UUID, int]:
    reservation_id, units, _arrival = place.decode().split(":")
    return UUID(reservation_id), int(units)
