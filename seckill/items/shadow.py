"""Shadows: items that are in the reservation store alone, for a rehearsal (orders/rehearsal/).

Their ids begin where those of rows never come. Audits, figures, lists and repairs start from rows, so they never meet
one, and no buyer gets a pass for one. Reservations, the outbox and its doorbell treat a shadow as any other item.
"""

from dataclasses import astuple
from typing import Any

from seckill.store.client import ask
from seckill.store.keys import keys_of

# Half of what a reservation id has room for (seckill/passes/passes.py).
SHADOWS_FROM = 2**47
# So many ids belong to one rehearsal.
ITEMS_MAX = 100


def is_shadow(item_id: int) -> bool:
    return item_id >= SHADOWS_FROM


def shadow_id(*, rehearsal_id: int, number: int) -> int:
    """The id of a rehearsal's shadow. `number` counts from 0."""
    return SHADOWS_FROM + rehearsal_id * ITEMS_MAX + number


def parts_of(item_id: int) -> tuple[int, int]:
    """The rehearsal of a shadow, and its number there."""
    return divmod(item_id - SHADOWS_FROM, ITEMS_MAX)


def expire_in(seconds: int, *, item_id: int) -> None:
    """Let the keys that the shadow has now expire after this time."""

    def expire(client: Any) -> None:
        pipeline = client.pipeline(transaction=False)
        for key in astuple(keys_of(item_id)):
            pipeline.expire(key, seconds)
        pipeline.execute()

    ask(expire, item_id=item_id)
