"""A lock for each item: its changes, its reconcile and its rebuild run one at a time, in whatever process.

It is a session-level advisory lock of PostgreSQL. The connection holds it, so it is released when the process dies.
It therefore needs a direct connection to the server: a pooler in transaction mode breaks it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import DatabaseError, connection

log = structlog.get_logger(__name__)

# Keeps the lock numbers of items apart from other advisory locks: "item" in ASCII, above 32 bits of item id.
NAMESPACE = int.from_bytes(b"item") << 32

# Between two attempts while waiting for a limited time. A change holds the lock for some milliseconds.
RETRY_SECONDS = 0.02


@contextmanager
def item_lock(*, item_id: int, wait: bool | float = True) -> Iterator[bool]:
    """Hold the item's lock for the length of a `with`. Yields whether it was acquired.

    `wait` True waits without a limit and always acquires it; a number waits at most that many seconds; False does not
    wait. The lock is reentrant. Raises DatabaseError.
    """
    with advisory_lock(NAMESPACE + item_id, wait=wait) as acquired:
        yield acquired


@contextmanager
def advisory_lock(number: int, *, wait: bool | float) -> Iterator[bool]:
    """Hold the lock of this number. `wait` is as in `item_lock`."""
    acquired = acquire(number, wait=wait)
    try:
        yield acquired
    finally:
        if acquired:
            release(number)


def acquire(number: int, *, wait: bool | float) -> bool:
    if wait is True:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [number])
        return True
    deadline = time.monotonic() + wait
    while not try_acquire(number):
        if time.monotonic() >= deadline:
            return False
        time.sleep(RETRY_SECONDS)
    return True


def try_acquire(number: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [number])
        return bool(cursor.fetchone()[0])


def release(number: int) -> None:
    """Unlock. Where the connection no longer works, close it, which unlocks too."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [number])
    except DatabaseError as error:
        log.warning("item_lock_connection_lost", error=str(error))
        if not connection.in_atomic_block:
            connection.close()
