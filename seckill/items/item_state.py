"""Reading, checking, wiping and verifying an item in the reservation store, for audit and reconcile.

An item is verified if its `incarnation` is that of the running server. Its `timeline` says which PostgreSQL server had
the orders that it was compared with. Buyers can reserve units of verified items only
(seckill/lua/reserve.lua), so no reservation is added while an unverified item is compared or rebuilt.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from enum import StrEnum
from functools import partial
from hashlib import blake2b
from typing import Any
from uuid import UUID

from redis import Redis

from seckill import ledger_words
from seckill.items.lock import item_lock
from seckill.ledger import Counters, counters_from
from seckill.ledger_words import Hold, hold_from
from seckill.store.client import answers_of, ask, ask_each
from seckill.store.keys import keys_of

# The counters that are compared with an item's holds. `forgotten` is missing until the first hold is forgotten.
COUNTERS = {"quantity", "left", "held", "sold", "reservations", "forgotten"}

# Entries per HSCAN: some hundred microseconds of the server's time.
SCAN_COUNT = 1_000


class Condition(StrEnum):
    """Whether buyers can reserve.

    `lost`: a part is missing. `unverified`: complete, but not compared with the orders. `outdated`: compared with the
    orders of a PostgreSQL server that another one has replaced, or PostgreSQL accepts the reservations of another
    server of the store; buyers can reserve until it is marked as unverified.
    `verified`: buyers can reserve.
    """

    LOST = "lost"
    UNVERIFIED = "unverified"
    OUTDATED = "outdated"
    VERIFIED = "verified"


# For callers who do not know which server's reservations PostgreSQL accepts.
NONE_ACCEPTED: Mapping[int, str] = {}
# Enough that few buyers share a group, and small beside a worker's memory.
BUYER_GROUPS = 1 << 14
# The largest number of unreadable entries that are named.
MALFORMED_MAX = 100


class BuyerUnits:
    """Units per buyer, for any number of buyers in the same memory: comparable, but no longer readable.

    Each group has the sum of its buyers' units, each times a random number of the buyer. Sums that are equal have the
    same buyers with the same units, but for one chance in 2**61.
    """

    def __init__(self) -> None:
        self._sums = [0] * BUYER_GROUPS

    def add(self, buyer: str, units: int) -> None:
        group, factor = group_and_factor(buyer)
        self._sums[group] = (self._sums[group] + units * factor) % PRIME

    def groups_that_differ(self, other: "BuyerUnits") -> set[int]:
        pairs = zip(self._sums, other._sums, strict=True)
        return {group for group, (mine, theirs) in enumerate(pairs) if mine != theirs}


PRIME = (1 << 61) - 1


def group_and_factor(buyer: str) -> tuple[int, int]:
    number = int.from_bytes(blake2b(buyer.encode(), digest_size=16).digest())
    return number % BUYER_GROUPS, 1 + (number >> 64) % (PRIME - 1)


@dataclass(slots=True)
class Totals:
    """An item's totals, added up from its holds, beside the counters that the store keeps (`counted`).

    `malformed` are reservations and buyers whose entry cannot be read. Counters that cannot be read are left out.
    `buyers` are the units in the holds, `buyers_counted` the units that the store counts. The memory does not grow with
    the item.
    """

    counted: dict[str, int]
    held: int = 0
    sold: int = 0
    reservations: int = 0
    buyers: BuyerUnits = field(default_factory=BuyerUnits)
    buyers_counted: BuyerUnits = field(default_factory=BuyerUnits)
    malformed: list[str] = field(default_factory=list)

    @property
    def consistent(self) -> bool:
        """Whether holds, counters and buyers agree. Only meaningful if nothing was reserved or released meanwhile."""
        whole = {"held", "sold", "reservations"} <= self.counted.keys()
        unlimited = not {"quantity", "left"} & self.counted.keys()
        left_fits = unlimited or (
            self.counted.get("left", -1) == self.counted.get("quantity", -1) - self.held - self.sold >= 0
        )
        return (
            whole
            and left_fits
            and not self.malformed
            and (self.counted["held"], self.counted["sold"]) == (self.held, self.sold)
            and self.counted["reservations"] == self.reservations + self.counted.get("forgotten", 0)
            and not self.buyers.groups_that_differ(self.buyers_counted)
        )


def incarnation(*, item_id: int) -> str:
    """Identifies the server that has the item. Changes when it restarts, and when a replica is promoted."""
    return str(ask(lambda client: client.info("replication"), item_id=item_id)["master_replid"])


def conditions(
    *, item_ids: Sequence[int], timeline: str = "", accepted: Mapping[int, str] = NONE_ACCEPTED
) -> dict[int, Condition]:
    """Each item's condition, in one round trip for each server. Items of a server that is silent are missing.

    An item of which a key has the wrong type counts as lost. Items are `outdated` only where PostgreSQL's `timeline` is
    given and they were verified with another one, or where `accepted` names another server of the store, by item
    (`SaleItem.incarnation`). Raises StoreUnreachable if no server answers.
    """
    return ask_each(partial(read_conditions, timeline=timeline, accepted=accepted), item_ids=item_ids)


def condition(*, item_id: int, timeline: str = "", accepted: str = "") -> Condition:
    """The item's condition, by the rules of `conditions`. Raises StoreUnreachable."""
    read = partial(read_conditions, item_ids=[item_id], timeline=timeline, accepted={item_id: accepted})
    return ask(read, item_id=item_id)[item_id]


def read_conditions(
    client: Redis, item_ids: Sequence[int], *, timeline: str, accepted: Mapping[int, str]
) -> dict[int, Condition]:
    pipeline = client.pipeline(transaction=False)
    pipeline.info("replication")
    for item_id in item_ids:
        keys = keys_of(item_id)
        pipeline.hgetall(keys.item)
        for key in (keys.outbox, keys.buyers, keys.holds):
            pipeline.exists(key)
    replication, *answers = answers_of(pipeline)
    if isinstance(replication, Exception):
        raise replication
    now = str(replication["master_replid"]).encode()
    return {
        item_id: condition_of(
            *answers[4 * index : 4 * index + 4],
            now=now,
            timeline=timeline.encode(),
            accepted=accepted.get(item_id, "").encode(),
        )
        for index, item_id in enumerate(item_ids)
    }


def condition_of(
    item: dict[bytes, bytes] | Exception,
    outbox: int,
    buyers: int,
    holds: int,
    *,
    now: bytes,
    timeline: bytes = b"",
    accepted: bytes = b"",
) -> Condition:
    """The checks of reserve.lua in Python. A number that cannot be read counts as missing."""
    if isinstance(item, Exception):
        return Condition.LOST
    counters = counters_from(item, now_ms=0)
    if counters is None or not outbox or (counters.reservations > 0 and not holds):
        return Condition.LOST
    if counters.held + counters.sold > 0 and not (buyers and holds):
        return Condition.LOST
    if item.get(b"incarnation") != now:
        return Condition.UNVERIFIED
    # An item without one was verified by an older release.
    is_outdated = (timeline and item.get(b"timeline", timeline) != timeline) or accepted not in (b"", now)
    return Condition.OUTDATED if is_outdated else Condition.VERIFIED


def mark_unverified(*, item_id: int) -> None:
    """From now on buyers get `unavailable`, until the item is verified."""
    ask(lambda client: client.hdel(keys_of(item_id).item, "incarnation"), item_id=item_id)


def mark_verified(*, item_id: int, incarnation: str, timeline: str = "") -> None:
    """Let buyers reserve again: the item agrees with the orders.

    `incarnation` must have been read before the comparison began. If the server has restarted since, it does not match,
    and the item stays unavailable. PostgreSQL's `timeline` (shop/databases/timeline.py), empty if unknown, must have
    been read before it too.
    """
    # Web processes remember the item's reservations. A new `verification` tells them that some may have come back.
    fields: dict[Any, Any] = {"incarnation": incarnation, "verification": secrets.token_hex(8)}
    if timeline:
        fields["timeline"] = timeline
    ask(lambda client: client.hset(keys_of(item_id).item, mapping=fields), item_id=item_id)


def is_of_other_timeline(*, item_id: int, timeline: str) -> bool:
    """Whether the item was last compared with another PostgreSQL server. An older release noted none."""
    noted = terms(item_id=item_id).get("timeline")
    return bool(noted and timeline) and noted != timeline


def note_timeline(*, item_id: int, timeline: str) -> None:
    """Note PostgreSQL's timeline of a new item, unless it has one."""
    if timeline:
        ask(lambda client: client.hsetnx(keys_of(item_id).item, "timeline", timeline), item_id=item_id)


def set_pause_note(*, item_id: int, note: str) -> None:
    """Keep a pause's note for buyers, as JSON, with the item; empty takes it away."""
    key = keys_of(item_id).item
    if note:
        ask(lambda client: client.hset(key, "pause_note", note), item_id=item_id)
    else:
        ask(lambda client: client.hdel(key, "pause_note"), item_id=item_id)


def wipe(*, item_id: int) -> None:
    """Delete the item, its buyers, holds, operations and latest reservations. Its outbox and its line stay."""
    keys = keys_of(item_id)
    ask(lambda client: client.unlink(keys.item, keys.buyers, keys.holds, keys.ops, keys.latest), item_id=item_id)


def remove(*, item_id: int) -> None:
    """Delete the item from the store with its outbox. Call it for items whose rows are deleted too."""
    ask(lambda client: client.unlink(*astuple(keys_of(item_id))), item_id=item_id)


def terms(*, item_id: int) -> dict[str, str]:
    """The item's hash as text, with terms and counters. Empty if there is no item."""
    item: dict[Any, Any] = ask(lambda client: client.hgetall(keys_of(item_id).item), item_id=item_id)
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in item.items()}


def counters(*, item_id: int) -> Counters | None:
    """The item's terms and counters, verified or not; None if a part of the hash is missing."""
    item: dict[Any, Any] = ask(lambda client: client.hgetall(keys_of(item_id).item), item_id=item_id)
    return counters_from(item, now_ms=0)


def applied_operations(*, item_id: int) -> set[UUID]:
    """The operation ids of the changes that the store has applied."""
    operations: list[Any] = ask(lambda client: client.hkeys(keys_of(item_id).ops), item_id=item_id)
    return {operation_id for name in operations if (operation_id := uuid_from(name))}


def mark_applied(*, item_id: int, operation_ids: Iterable[UUID], now_ms: int) -> None:
    """Record changes as applied, because the published terms contain them."""
    marks: dict[Any, Any] = {str(operation_id): now_ms for operation_id in operation_ids}
    if marks:
        ask(lambda client: client.hset(keys_of(item_id).ops, mapping=marks), item_id=item_id)


def find_holds(*, item_id: int, reservation_ids: Sequence[UUID]) -> list[Hold | None]:
    """The holds of these reservations, in one round trip. None if there is none, or it cannot be read."""
    if not reservation_ids:
        return []
    names = [str(reservation_id) for reservation_id in reservation_ids]
    values: list[Any] = ask(lambda client: client.hmget(keys_of(item_id).holds, names), item_id=item_id)
    return [hold_from(value) if value else None for value in values]


def unknown_of(*, item_id: int, reservation_ids: Sequence[UUID]) -> list[UUID]:
    """Those of these reservations that the store does not know."""
    holds = find_holds(item_id=item_id, reservation_ids=reservation_ids)
    return [pk for pk, hold in zip(reservation_ids, holds, strict=True) if hold is None]


def compare_unknown(*, item_id: int, reservation_ids: Sequence[UUID]) -> list[UUID]:
    """The same. If there are any, the item is compared again: a comparison that goes on may miss or restore them."""
    if not unknown_of(item_id=item_id, reservation_ids=reservation_ids):
        return []
    mark_unverified(item_id=item_id)
    # It verifies the item at its end.
    with item_lock(item_id=item_id):
        if lost := unknown_of(item_id=item_id, reservation_ids=reservation_ids):
            mark_unverified(item_id=item_id)
    return lost


def all_holds(*, item_id: int) -> Iterator[dict[str, Hold | None]]:
    """All holds of the item in portions. Holds added meanwhile may be missed.

    A hold may come twice while the hash shrinks; remembering all of them would take as much memory as the item. None
    stands for a hold that cannot be read; its name may then be no reservation id.
    """
    for portion in scan(keys_of(item_id).holds, item_id=item_id):
        yield named_holds(portion)


def named_holds(portion: dict[bytes, bytes]) -> dict[str, Hold | None]:
    return {
        name.decode(errors="replace"): hold_from(value) if uuid_from(name) else None for name, value in portion.items()
    }


def portion_of_holds(*, item_id: int, cursor: int) -> tuple[int, dict[str, Hold | None]]:
    """One portion of the item's holds, from `cursor` on, and the cursor of the next; 0 is the first and after the last.

    None means that a hold cannot be read.
    """
    next_cursor, portion = portion_of(keys_of(item_id).holds, item_id=item_id, cursor=cursor)
    return next_cursor, named_holds(portion)


def totals(*, item_id: int) -> Totals:
    """Add up the item. This takes many calls, so a difference is an error only if nothing changed meanwhile."""
    keys = keys_of(item_id)
    found = Totals(counted={})
    for portion in all_holds(item_id=item_id):
        found.reservations += len(portion)
        for name, hold in portion.items():
            if hold is None:
                note_malformed(found, name)
            elif hold.state != "ended":
                found.buyers.add(str(hold.buyer_id), hold.units)
                found.held += hold.units if hold.state == "held" else 0
                found.sold += hold.units if hold.state == "sold" else 0
    for buyers in scan(keys.buyers, item_id=item_id):
        for buyer, text in buyers.items():
            name, units = buyer.decode(errors="replace"), number_from(text)
            if units is None:
                note_malformed(found, name)
            else:
                found.buyers_counted.add(name, units)
    values = terms(item_id=item_id)
    found.counted = {name: number for name in COUNTERS if (number := number_from(values.get(name))) is not None}
    return found


def note_malformed(found: Totals, name: str) -> None:
    if len(found.malformed) < MALFORMED_MAX:
        found.malformed.append(name)


def buyers_that_differ(*, item_id: int, totals: Totals, count_max: int) -> list[tuple[str, int, int]]:
    """Buyers whose units in holds differ from their counted units, with both figures, for a person to look at."""
    groups = totals.buyers.groups_that_differ(totals.buyers_counted)
    if not groups:
        return []
    # Compare only some groups: memory must stay small even if everything is broken.
    groups = set(sorted(groups)[:count_max])
    in_holds: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for portion in all_holds(item_id=item_id):
        for hold in portion.values():
            if hold is not None and hold.state != "ended" and group_and_factor(str(hold.buyer_id))[0] in groups:
                in_holds[str(hold.buyer_id)] += hold.units
    for buyers in scan(keys_of(item_id).buyers, item_id=item_id):
        for buyer, units in buyers.items():
            if group_and_factor(name := buyer.decode(errors="replace"))[0] in groups:
                counted[name] += number_from(units) or 0
    differing = sorted(name for name in in_holds | counted if in_holds[name] != counted[name])
    return [(name, in_holds[name], counted[name]) for name in differing[:count_max]]


def number_from(value: str | bytes | None) -> int | None:
    """An integer as the scripts write it; None if it is missing or cannot be read."""
    try:
        return None if value is None else ledger_words.number_from(value.encode() if isinstance(value, str) else value)
    except ValueError:
        return None


def uuid_from(name: bytes) -> UUID | None:
    """A field's name as an id; None if it is none."""
    try:
        return UUID(name.decode())
    except ValueError:
        return None


def scan(key: str, *, item_id: int) -> Iterator[dict[bytes, bytes]]:
    """A hash of the item in portions, so that a large one does not block the server."""
    cursor = 0
    while True:
        cursor, portion = portion_of(key, item_id=item_id, cursor=cursor)
        yield portion
        if cursor == 0:
            return


def portion_of(key: str, *, item_id: int, cursor: int) -> tuple[int, dict[bytes, bytes]]:
    answer: Any = ask(lambda client: client.hscan(key, cursor, count=SCAN_COUNT), item_id=item_id)
    return answer[0], answer[1]
