"""Statements that are too much for PostgreSQL: a word too long to search, a value too long to index, or too slow."""

from django.db import OperationalError

# SQLSTATE "program limit exceeded".
LIMIT_CLASS = "54"
# SQLSTATE "query canceled": by statement_timeout, or by hand.
CANCELED = "57014"


def exceeds_limit(error: BaseException | None) -> bool:
    """Whether the statement was too much. Django raises the error of a server that is away, but this one answers."""
    return sqlstate_of(error).startswith(LIMIT_CLASS)


def took_too_long(error: BaseException | None) -> bool:
    """Whether the statement was ended. That is an outage for its caller, but the server that ended it answers."""
    return sqlstate_of(error) == CANCELED


def sqlstate_of(error: BaseException | None) -> str:
    """Of an OperationalError from PostgreSQL; else empty, as of a server that is away."""
    return getattr(error.__cause__, "sqlstate", None) or "" if isinstance(error, OperationalError) else ""
