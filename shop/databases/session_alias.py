"""The connection for what lasts longer than a transaction, such as a session's advisory lock."""

from django.db import connections

from shop.configuration.database_connections import DIRECT


def session_alias() -> str:
    """The direct connection where a pooler stands before the default one."""
    return DIRECT if DIRECT in connections.settings else "default"
