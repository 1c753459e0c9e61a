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
from seckill.store import StoreUnreachable

log = structlog.get_logger(__name__)

Result = TypeVar("Result")

# What this process has logged: (event, item) -> the kind of error.
_logged: dict[tuple[str, int], str] = {}


def for_each_item(
    step: Callable[[int], Result], *, item_ids: Iterable[int], event: str
) -> tuple[dict[int, Result], list[int]]:
    """Call `step` with each item. Returns the results, and the items for which it failed; those are logged as `event`.

    Raises StoreUnreachable where the store does not answer at all, and DatabaseError where PostgreSQL does not: then
    the other items would only fail too, each after a timeout.
    """
    results: dict[int, Result] = {}
    broken: list[int] = []
    for item_id in item_ids:
        try:
            results[item_id] = step(item_id)
        except Exception as error:
            if isinstance(error, DatabaseError) and not connection.is_usable():
                raise
            if isinstance(error, StoreUnreachable):
                # Raises it again unless the fault is in the item: a damaged value, or a key of the wrong type.
                ledger.clock_ms()
            broken.append(item_id)
            report(event, item_id=item_id, error=error)
        else:
            _logged.pop((event, item_id), None)
    return results, broken


def until(ends_s: float, item_ids: Iterable[int]) -> Iterator[int]:
    """The items, as long as `time.monotonic()` is before `ends_s`: the rest is left to the next sweep."""
    for item_id in item_ids:
        if time.monotonic() >= ends_s:
            break
        yield item_id


def report(event: str, *, item_id: int, error: Exception) -> None:
    kind = type(error).__name__
    if _logged.get((event, item_id)) != kind:
        _logged[event, item_id] = kind
        log.error(event, item_id=item_id, error=str(error), exc_info=error)
