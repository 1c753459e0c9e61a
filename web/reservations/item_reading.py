"""What the reservation store has said of an item, as the gate understands it (seckill/store/portions.py reads it)."""

from dataclasses import dataclass

from seckill.items.item_state import Condition, condition_of
from seckill.ledger import Counters, counters_from
from seckill.store.portions import BUYERS, HOLDS, NAMES, OUTBOX, Answers


@dataclass(frozen=True, slots=True)
class ReadItem:
    """Answers for an item as they are understood.

    `counters` None: the item was not verified on this server. Their `now_ms` is 0.
    """

    answers: Answers
    incarnation: bytes
    counters: Counters | None = None
    verification: bytes | None = None


def understood(answers: Answers, *, incarnation: bytes) -> ReadItem | None:
    """None if a key has the wrong type, a number cannot be read, or another server has the item now."""
    if any(isinstance(answer, Exception) for answer in answers):
        return None
    values, existing, _latest, backlog = answers
    item = {name: value for name, value in zip(NAMES, values, strict=True) if value is not None}
    if item.get(b"incarnation") != incarnation:
        return ReadItem(answers, incarnation)
    parts = existing & OUTBOX, existing & BUYERS, existing & HOLDS
    if condition_of(item, *parts, now=incarnation) is not Condition.VERIFIED:
        return None
    counters = counters_from(item, now_ms=0, backlog=backlog)
    if counters is None:
        return None
    return ReadItem(answers, incarnation, counters=counters, verification=item.get(b"verification"))
