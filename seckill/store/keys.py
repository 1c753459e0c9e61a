"""The keys of the reservation store. All keys of one item share a hash tag, so a Cluster keeps them in one slot.

So do those of a sale's waiting room. Where a server is asked for by the number of an item, a room has the negative
number of its sale (`room_id`).
"""

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class ItemKeys:
    """The keys of one sale item; docs/design.md says what each holds."""

    item: str
    buyers: str
    holds: str
    outbox: str
    dead: str
    ops: str
    latest: str
    line: str
    places: str


# A call of a stampede asks for them again and again.
@lru_cache(maxsize=1_000)
def keys_of(item_id: int) -> ItemKeys:
    tag = prefix_of(item_id)
    return ItemKeys(
        item=f"{tag}:item",
        buyers=f"{tag}:buyers",
        holds=f"{tag}:holds",
        outbox=f"{tag}:outbox",
        dead=f"{tag}:dead",
        ops=f"{tag}:ops",
        latest=f"{tag}:latest",
        line=f"{tag}:line",
        places=f"{tag}:places",
    )


@dataclass(frozen=True, slots=True)
class RoomKeys:
    room: str
    arrivals: str
    steps: str


def room_keys_of(sale_id: int) -> RoomKeys:
    tag = prefix_of(room_id(sale_id))
    return RoomKeys(room=f"{tag}:room", arrivals=f"{tag}:arrivals", steps=f"{tag}:steps")


def room_id(sale_id: int) -> int:
    """The number by which the server of a sale's waiting room is found."""
    return -sale_id


def prefix_of(item_id: int) -> str:
    """The beginning of all keys of an item, or of a waiting room."""
    return f"seckill:{{{item_id}}}" if item_id >= 0 else f"seckill:{{sale-{-item_id}}}"


def barrier_key(item_id: int) -> str:
    """A key on the item's server that is written only to be waited for, and expires (seckill/store/barrier.py)."""
    return f"{prefix_of(item_id)}:barrier"
