"""One item in the reservation store as a whole, for audit and reconcile, which compare and rebuild it.

The verbs of `seckill/ledger.py` move single reservations; here items are read, checked, wiped and marked as verified.
Buyers can reserve only where the item's `incarnation` is that of the running server (seckill/lua/reserve.lua). So
nobody but the caller reserves units of an item that is not verified.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from seckill.keys import keys_of
from seckill.ledger import Hold, counters_from, hold_from
from seckill.store import store

# Holds asked for at once: a round trip of some hundred microseconds at the server.
SCAN_COUNT = 1_000


class Condition(StrEnum):
    """Whether buyers can be served. `lost` lacks a part; `unverified` is whole but not compared with the orders yet."""

    LOST = "lost"
    UNVERIFIED = "unverified"
    VERIFIED = "verified"


@dataclass(slots=True)
class Totals:
    """An item added up from its holds, beside the counters that the store keeps.

    `malformed` are reservations and buyers whose entry cannot be read; a counter that cannot be is left out.
    """

    counted: dict[str, int]
    held: int = 0
    sold: int = 0
    reservations: int = 0
    buyers: Counter[str] = field(default_factory=Counter)
    buyers_counted: dict[str, int] = field(default_factory=dict)
    malformed: list[str] = field(default_factory=list)

    @property
    def consistent(self) -> bool:
        """Whether holds, counters and buyers tell the same story. Means something where nobody reserves meanwhile."""
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
            and self.counted["reservations"] == self.reservations
            and self.buyers == Counter(self.buyers_counted)
        )


def incarnation() -> str:
    """Which life of which server this is: changes with every restart of a master and every promotion of a replica."""
    with store() as client:
        return str(client.info("replication")["master_replid"])


def conditions(*, item_ids: Sequence[int]) -> dict[int, Condition]:
    """Each item's condition, in one round trip."""
    with store() as client:
        pipeline = client.pipeline(transaction=False)
        pipeline.info("replication")
        for item_id in item_ids:
            keys = keys_of(item_id)
            pipeline.hgetall(keys.item)
            for key in (keys.outbox, keys.buyers, keys.holds):
                pipeline.exists(key)
        replication, *answers = pipeline.execute()
    now = str(replication["master_replid"]).encode()
    return {
        item_id: condition_of(*answers[4 * index : 4 * index + 4], now=now) for index, item_id in enumerate(item_ids)
    }


def condition_of(item: dict[bytes, bytes], outbox: int, buyers: int, holds: int, *, now: bytes) -> Condition:
    """The checks of reserve.lua, in Python: a number that cannot be read is as good as missing."""
    counters = counters_from(item, now_ms=0)
    if counters is None or not outbox:
        return Condition.LOST
    if (counters.held + counters.sold > 0 and not buyers) or (counters.reservations > 0 and not holds):
        return Condition.LOST
    return Condition.VERIFIED if item.get(b"incarnation") == now else Condition.UNVERIFIED


def mark_unverified(*, item_id: int) -> None:
    """Let buyers hear `unavailable` until the item is verified."""
    with store() as client:
        client.hdel(keys_of(item_id).item, "incarnation")


def mark_verified(*, item_id: int, incarnation: str) -> None:
    """Open the item for buyers: it agrees with the orders.

    `incarnation` was read before the comparison began: if the server has changed since, it does not match, and the
    item stays unavailable.
    """
    with store() as client:
        client.hset(keys_of(item_id).item, "incarnation", incarnation)


def wipe(*, item_id: int) -> None:
    """Forget the item, its buyers, holds and operations, in one command. The outbox stays."""
    keys = keys_of(item_id)
    with store() as client:
        client.unlink(keys.item, keys.buyers, keys.holds, keys.ops)


def terms(*, item_id: int) -> dict[str, str]:
    """The item's hash as text: terms, counters and all. Empty where the item is not there."""
    with store() as client:
        item: dict[Any, Any] = client.hgetall(keys_of(item_id).item)
    return texts(item)


def applied_operations(*, item_id: int) -> set[UUID]:
    """The changes of the terms that the store knows to have applied."""
    with store() as client:
        operations: list[Any] = client.hkeys(keys_of(item_id).ops)
    return {UUID(operation.decode()) for operation in operations}


def mark_applied(*, item_id: int, operation_ids: Iterable[UUID], now_ms: int) -> None:
    """Note changes that the published terms hold already."""
    marks: dict[Any, Any] = {str(operation_id): now_ms for operation_id in operation_ids}
    if marks:
        with store() as client:
            client.hset(keys_of(item_id).ops, mapping=marks)


def find_holds(*, item_id: int, reservation_ids: Sequence[UUID]) -> list[Hold | None]:
    """The holds of these reservations, in one round trip. None where there is none, or it cannot be read."""
    if not reservation_ids:
        return []
    with store() as client:
        values: list[Any] = client.hmget(
            keys_of(item_id).holds, [str(reservation_id) for reservation_id in reservation_ids]
        )
    return [hold_from(value) if value else None for value in values]


def all_holds(*, item_id: int) -> Iterator[dict[str, Hold | None]]:
    """All holds of the item in portions; those that come and go meanwhile may be missed. None cannot be read."""
    seen: set[bytes] = set()
    for portion in scan(keys_of(item_id).holds):
        # A hash that grows or shrinks meanwhile may give a field twice.
        yield {name.decode(): hold_from(value) for name, value in portion.items() if name not in seen}
        seen |= portion.keys()


def totals(*, item_id: int) -> Totals:
    """The item added up. The counters are read last, so a difference is a sign of trouble only where nobody moves."""
    keys = keys_of(item_id)
    found = Totals(counted={})
    for portion in all_holds(item_id=item_id):
        found.reservations += len(portion)
        for name, hold in portion.items():
            if hold is None:
                found.malformed.append(name)
            elif hold.state != "ended":
                found.buyers[str(hold.buyer_id)] += hold.units
                found.held += hold.units if hold.state == "held" else 0
                found.sold += hold.units if hold.state == "sold" else 0
    for buyers in scan(keys.buyers):
        units_of = {buyer.decode(): number_from(units) for buyer, units in buyers.items()}
        found.malformed += [buyer for buyer, units in units_of.items() if units is None]
        found.buyers_counted |= {buyer: units for buyer, units in units_of.items() if units is not None}
    found.counted = numbers_in(terms(item_id=item_id), names={"quantity", "left", "held", "sold", "reservations"})
    return found


def texts(item: dict[bytes, bytes]) -> dict[str, str]:
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in item.items()}


def numbers_in(item: dict[str, str], *, names: Set[str]) -> dict[str, int]:
    """Those of the item's fields that are numbers."""
    values = {name: number_from(item.get(name)) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def number_from(value: str | bytes | None) -> int | None:
    """A whole number as the scripts write it; None where there is none."""
    try:
        return None if value is None else int(value)
    except ValueError:
        return None


def scan(key: str) -> Iterator[dict[bytes, bytes]]:
    """A hash in portions, so that the server is never held up by a large one."""
    cursor = 0
    portion: Any
    while True:
        with store() as client:
            cursor, portion = client.hscan(key, cursor, count=SCAN_COUNT)
        yield portion
        if cursor == 0:
            return
