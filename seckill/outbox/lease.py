"""A short lease in the cache server, so that one process at a time drains an item.

Two at once would do no harm (seckill/outbox/outbox.py gives each entry to one of them), but they would share the
entries, and an order costs less in a full batch. So nothing depends on the lease: it ends by itself if its
process dies, and while the cache server is away every process may drain.

After giving the lease back, read the outbox once more. A reservation made shortly before saw the lease taken, so it
asked no other process to drain the item.
"""

from django.core.cache import cache

from shop.background.outages import go_on, wait

# Longer than a batch takes, so that the lease is kept while the process works; short, since after a kill -9 the item
# waits for the end of the lease.
LEASE_SECONDS = 2.0


def take(item_id: int) -> bool:
    """Take the item's lease. False if another process has it."""
    try:
        is_ours = bool(cache.add(key_of(item_id), 1, LEASE_SECONDS))
    except Exception as error:
        # Any fault of the cache server.
        wait("lease", error)
        return True
    go_on("lease")
    return is_ours


def keep(item_id: int) -> None:
    try:
        cache.set(key_of(item_id), 1, LEASE_SECONDS)
    except Exception as error:
        wait("lease", error)


def give_back(item_id: int) -> None:
    """Give the lease back. Read the outbox once more afterwards."""
    try:
        cache.delete(key_of(item_id))
    except Exception as error:
        wait("lease", error)


def is_taken(item_id: int) -> bool:
    """Whether a process drains the item now. Raises what the cache's client raises."""
    return cache.has_key(key_of(item_id))


def key_of(item_id: int) -> str:
    return f"seckill.outbox.lease.{item_id}"
