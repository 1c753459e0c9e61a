"""One at a time for an item: its changes, its reconcile and its rebuild, in whatever process they run.

A session-level advisory lock of PostgreSQL. The connection holds it, so it goes when the process dies; it needs a
connection of its own to the server, which a pooler in transaction mode is not.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import DatabaseError, connection

log = structlog.get_logger(__name__)

# Keeps the numbers of items apart from whatever else is locked by number: "item" in ASCII, above 32 bits of item id.
NAMESPACE = int.from_bytes(b"item") << 32

# Between two looks of somebody who waits for a limited time. A change holds the lock for some milliseconds.
LOOK_SECONDS = 0.02


@contextmanager
def item_lock(*, item_id: int, wait: bool | float = True) -> Iterator[bool]:
    """Hold the item's lock for the length of a `with`. Yields whether it is held, which without waiting it may not be.

    `wait` True waits for as long as it takes, a number for so many seconds at most, False not at all. Whoever holds
    the lock may take it again. Raises DatabaseError.
    """
    number = NAMESPACE + item_id
    held = take(number, wait=wait)
    try:
        yield held
    finally:
        if held:
            give_back(number)


def take(number: int, *, wait: bool | float) -> bool:
    if wait is True:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [number])
        return True
    deadline = time.monotonic() + wait
    while not try_to_take(number):
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def try_to_take(number: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [number])
        return bool(cursor.fetchone()[0])


def give_back(number: int) -> None:
    """Unlock; where the connection is of no more use, end it, which unlocks too."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [number])
    except DatabaseError as error:
        log.warning("item_lock_dies_with_its_connection", error=str(error))
        if not connection.in_atomic_block:
            connection.close()
