"""A loop over items in which a broken item never stops the others.

Sweeps repeat every second, so a broken item is logged when it breaks, and not again until it has worked or fails in
another way.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import structlog
from django.db import DatabaseError, connection

from seckill import ledger
from seckill.store.client import StoreUnreachable, server_of, wait_for_servers

log = structlog.get_logger(__name__)

Result = TypeVar("Result")
Row = TypeVar("Row")

# The failures that this process has logged: (event, item) -> the kind of error.
_logged: dict[tuple[str, int], str] = {}


def for_each_item(
    step: Callable[[int], Result], *, item_ids: Iterable[int], event: str
) -> tuple[dict[int, Result], list[int]]:
    """Call `step` with each item. Returns the results, and the items that failed, which are logged as `event`.

    Items of a server of the store that does not answer are not tried one by one, since each would wait for it. They
    count as failed. Raises StoreUnreachable where no server answers that has one of the items, and DatabaseError where
    PostgreSQL does not.
    """
    results: dict[int, Result] = {}
    broken: list[int] = []
    servers: set[object] = set()
    silent: dict[object, StoreUnreachable] = {}
    wait_for_servers()
    for item_id in item_ids:
        servers.add(server := server_of(item_id))
        if server in silent:
            broken.append(item_id)
            continue
        try:
            results[item_id] = step(item_id)
        except Exception as error:
            if isinstance(error, DatabaseError) and not connection.is_usable():
                raise
            broken.append(item_id)
            if isinstance(error, StoreUnreachable) and not answers(item_id):
                silent[server] = error
            else:
                report(event, item_id=item_id, error=error)
        else:
            _logged.pop((event, item_id), None)
    if silent and servers == silent.keys():
        raise next(iter(silent.values()))
    return results, broken


def answers(item_id: int) -> bool:
    """Whether the item's server answers. If so, the item itself is broken: a damaged value or a wrong key."""
    try:
        ledger.clock_ms(item_id=item_id)
    except StoreUnreachable:
        return False
    return True


def until(ends_s: float, rows: Iterable[Row]) -> Iterator[Row]:
    """Items or others, until `time.monotonic()` reaches `ends_s`. The next sweep does the rest."""
    for row in rows:
        if time.monotonic() >= ends_s:
            break
        yield row


def report(event: str, *, item_id: int, error: Exception) -> None:
    kind = type(error).__name__
    if _logged.get((event, item_id)) != kind:
        _logged[event, item_id] = kind
        log.error(event, item_id=item_id, error=str(error), exc_info=error)
