"""A lock for each item: its changes, its reconcile and its rebuild run one at a time, across all processes.

It is a session-level advisory lock of PostgreSQL. The connection holds it, so it is released when the process dies.
A pooler in transaction mode would break it, so it is on the direct connection where there is one (DIRECT_DATABASE_URL).
Then the lock may be lost while the work goes on: `check_held` says so before a step that must not be done twice.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import DatabaseError, OperationalError, connections, transaction

from shop.configuration.database_connections import DIRECT

log = structlog.get_logger(__name__)

# Keeps the lock numbers of items apart from other advisory locks: "item" in ASCII, above 32 bits of item id.
NAMESPACE = int.from_bytes(b"item") << 32

# Between two attempts while waiting for a limited time. A change holds the lock for some milliseconds.
RETRY_SECONDS = 0.02

FIND_LOCK = """
SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()
               AND (classid::bigint << 32) + objid::bigint = %s AND objsubid = 1)
"""


class LockLost(OperationalError):
    """The connection that held the lock has ended, and another process may have it."""


@contextmanager
def item_lock(*, item_id: int, wait: bool | float = True) -> Iterator[bool]:
    """Hold the item's lock for the length of a `with`. Yields whether it was acquired.

    `wait` True waits without a limit and always acquires it; a number waits at most that many seconds; False does not
    wait. The lock is reentrant. Raises DatabaseError.
    """
    with advisory_lock(NAMESPACE + item_id, wait=wait) as acquired:
        yield acquired


def check_held(*, item_id: int) -> None:
    """Raises LockLost, and other database errors, unless this thread still holds the item's lock."""
    with connections[session_alias()].cursor() as cursor:
        cursor.execute(FIND_LOCK, [NAMESPACE + item_id])
        if not cursor.fetchone()[0]:
            raise LockLost(f"the lock of item {item_id} was lost with its connection")


@contextmanager
def advisory_lock(number: int, *, wait: bool | float) -> Iterator[bool]:
    """Hold the lock of this number. `wait` is as in `item_lock`."""
    acquired = acquire(number, wait=wait)
    try:
        yield acquired
    finally:
        if acquired:
            release(number)


def session_alias() -> str:
    """The direct connection where a pooler stands before the default one."""
    return DIRECT if DIRECT in connections.settings else "default"


def acquire(number: int, *, wait: bool | float) -> bool:
    # Mostly it is free, and this is the only statement.
    if try_acquire(number):
        return True
    if wait is True:
        alias = session_alias()
        # The lock belongs to the session and outlives the transaction. It may be held for longer than rows ever are.
        with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = 0")
            cursor.execute("SELECT pg_advisory_lock(%s)", [number])
        return True
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline:
        time.sleep(RETRY_SECONDS)
        if try_acquire(number):
            return True
    return False


def try_acquire(number: int) -> bool:
    with connections[session_alias()].cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [number])
        return bool(cursor.fetchone()[0])


def release(number: int) -> None:
    """Unlock. Where the connection no longer works, close it, which unlocks too."""
    try:
        with connections[session_alias()].cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [number])
    except DatabaseError as error:
        log.warning("item_lock_connection_lost", error=str(error))
        if not connections[session_alias()].in_atomic_block:
            connections[session_alias()].close()
