"""The keys of the reservation store. All keys of one item share a hash tag, so a Cluster keeps them in one slot."""

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
    """The keys of sale item `item_id`."""
    tag = f"seckill:{{{item_id}}}"
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


def barrier_key(item_id: int) -> str:
    """A key on the item's server that is written only to be waited for, and expires (seckill/store/barrier.py)."""
    return f"seckill:{{{item_id}}}:barrier"
