"""Reads that may lag: from a replica where the shop has one (REPLICA_DATABASE_URL), from the primary otherwise.

A replica is some milliseconds behind its primary, and more when it is busy. That is good enough for pages that caches
keep for a second, and for tables that staff download. Not for rows that a buyer has just changed, nor for rows that
decide about something: carts, checkouts, stock, sales, orders of a buyer, passes.

So nothing is routed there. A function that may lag is marked with `may_lag`, and its queries name `reading_alias()`:

    @may_lag
    def products(request):
        ... Product.objects.using(reading_alias())
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import structlog
from django.db import InterfaceError, OperationalError, connections
from psycopg.pq import ConnStatus

from shop.configuration.database_connections import REPLICA
from shop.databases.kept_connections import ANSWER_SECONDS, answers
from shop.databases.statement_limits import exceeds_limit, took_too_long

log = structlog.get_logger(__name__)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# After a failure, use the primary for this long; then one call tries again, which may take the two seconds of a
# connection.
AWAY_SECONDS = 10.0


class ReplicaState:
    """Whether the replica answers, as far as this process knows."""

    def __init__(self) -> None:
        self.is_away = False
        self._next_try_s = 0.0

    def may_be_asked(self) -> bool:
        """Of several threads that come when it is time to try again, usually one."""
        if not self.is_away:
            return True
        if time.monotonic() < self._next_try_s:
            return False
        self._next_try_s = time.monotonic() + AWAY_SECONDS
        return True

    def failed(self, error: Exception) -> None:
        if not self.is_away:
            log.warning("replica_away", error=str(error).strip(), reads="from the primary")
        self.is_away = True
        self._next_try_s = time.monotonic() + AWAY_SECONDS

    def answered(self) -> None:
        if self.is_away:
            log.warning("replica_back")
        self.is_away = False


replica = ReplicaState()
_alias: ContextVar[str] = ContextVar("reading_alias", default="default")


def reading_alias() -> str:
    """The connection for queries that may lag: the replica's inside `may_lag`, if it answers; else the default one."""
    return _alias.get()


def may_lag(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Mark a function that only reads, and whose answer may be some seconds old.

    If the replica fails in the middle, the function is called again, on the primary. So it must return its whole
    answer: nothing that reads later.
    """

    @wraps(function)
    def read(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if REPLICA not in connections.settings or not replica.may_be_asked() or is_silent():
            return function(*args, **kwargs)
        token = _alias.set(REPLICA)
        try:
            answer = function(*args, **kwargs)
        except (OperationalError, InterfaceError) as error:
            if not connections[REPLICA].errors_occurred or exceeds_limit(error) or took_too_long(error):
                # It came from the primary, which such a function may ask too; or the statement is to blame.
                raise
            replica.failed(error)
            # The next attempt makes a new one.
            connections[REPLICA].close()
        else:
            replica.answered()
            return answer
        finally:
            _alias.reset(token)
        return function(*args, **kwargs)

    return read


def is_silent() -> bool:
    """Whether the replica does not answer on the connection that this thread has kept from another request. Then it is
    closed, and the replica is away.

    Asked once a request, in place of Django's health check, which would wait for a frozen server without end.
    """
    kept: Any = connections[REPLICA]
    if kept.connection is None or kept.health_check_done:
        return False
    if answers(kept.connection):
        kept.health_check_done = True
        return False
    # A server that was started again has ended its connections, and takes new ones.
    has_ended = kept.connection.pgconn.status != ConnStatus.OK
    kept.close()
    if not has_ended:
        replica.failed(TimeoutError(f"no answer on a kept connection within {ANSWER_SECONDS:.0f} s"))
    return not has_ended
