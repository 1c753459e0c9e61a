"""The outbox entries that could not become orders, for a person to look at. Each one was a yes to a buyer.

`outbox.move_to_dead_letters` writes them. They stay until somebody removes them, also when their item is archived.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from seckill.outbox.outbox import entries_from
from seckill.store.client import ask, ask_for_each
from seckill.store.keys import keys_of


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """`fields` are those of the entry, any text at all; `error` is why there is no order; `at` when it was moved."""

    item_id: int
    id: str
    at: datetime
    fields: dict[str, str]
    error: str


def read(*, item_ids: Sequence[int], count_max: int) -> dict[int, list[DeadLetter]]:
    """The oldest `count_max` dead letters of each item, items without any included. One round trip for each server.

    Raises StoreUnreachable.
    """
    found = ask_for_each(
        lambda pipeline, item_id: pipeline.xrange(keys_of(item_id).dead, count=count_max), item_ids=item_ids
    )
    return {item_id: letters_from(item_id, entries) for item_id, entries in found.items()}


def find(*, item_id: int, letter_id: str) -> DeadLetter | None:
    """One dead letter; None if somebody has removed it. Raises StoreUnreachable."""
    found: Any = ask(lambda client: client.xrange(keys_of(item_id).dead, letter_id, letter_id), item_id=item_id)
    return next(iter(letters_from(item_id, found)), None)


def remove(*, item_id: int, letter_id: str) -> None:
    """Remove a dead letter that somebody has dealt with; nothing happens if it is gone. Raises StoreUnreachable."""
    ask(lambda client: client.xdel(keys_of(item_id).dead, letter_id), item_id=item_id)


def letters_from(item_id: int, found: Any) -> list[DeadLetter]:
    letters = []
    for entry in entries_from(found, incarnation=""):
        fields = dict(entry.fields)
        fields.pop("entry", None)
        error = fields.pop("error", "")
        at = datetime.fromtimestamp(int(entry.id.partition("-")[0]) / 1000, UTC)
        letters.append(DeadLetter(item_id, entry.id, at, fields, error))
    return letters
