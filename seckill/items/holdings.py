"""What buyers have of an item in the reservation store: the hold of a reservation, and the units of a buyer."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from redis import Redis

from seckill.ledger_words import Hold, hold_from
from seckill.store.barrier import PinnedConnection, wait_for_what_was_read
from seckill.store.client import ask, ask_for_each
from seckill.store.keys import keys_of


def units_of_buyer(*, item_ids: Sequence[int], buyer_id: int) -> dict[int, int]:
    """How many units of each item the buyer has, held and bought; 0 if that cannot be read.

    One round trip for each server. Items of a server that is silent are missing. Raises StoreUnreachable if none
    answers.
    """
    found = ask_for_each(
        lambda pipeline, item_id: pipeline.hget(keys_of(item_id).buyers, str(buyer_id)), item_ids=item_ids
    )
    return {item_id: int(units) if units and units.isdigit() else 0 for item_id, units in found.items()}


def find_hold(*, item_id: int, reservation_id: UUID) -> Hold | None:
    """The hold of a reservation; None if the store has none, or it cannot be read."""
    key, name = keys_of(item_id).holds, str(reservation_id)
    value: Any = ask(lambda client: client.hget(key, name), item_id=item_id)
    return hold_from(value) if value else None


def find_promised_hold(*, item_id: int, reservation_id: UUID) -> Hold | None:
    """`find_hold` for an answer to the buyer. Waits until enough replicas have the hold: the answer is a yes too."""

    def read(client: Redis) -> Any:
        with PinnedConnection(client) as connection:
            connection.send_command("HGET", keys_of(item_id).holds, str(reservation_id))
            value = connection.read_response()
            if value:
                wait_for_what_was_read(connection, item_id=item_id)
            return value

    value = ask(read, item_id=item_id)
    return hold_from(value) if value else None
