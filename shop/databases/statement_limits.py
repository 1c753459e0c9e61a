"""Statements that are too much for PostgreSQL: a word too long to search, a value too long for an index."""

from django.db import OperationalError

# SQLSTATE "program limit exceeded".
LIMIT_CLASS = "54"


def exceeds_limit(error: BaseException | None) -> bool:
    """Whether the statement was too much. Django raises the error of a server that is away, but this one answers."""
    if not isinstance(error, OperationalError):
        return False
    return (getattr(error.__cause__, "sqlstate", None) or "").startswith(LIMIT_CLASS)
