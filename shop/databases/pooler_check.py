"""Checks of `manage.py check --deploy` for a shop behind a pooler (DIRECT_DATABASE_URL).

The pooled connections cannot ask for their timeouts when they connect, so the role must have them.
"""

from typing import Any

from django.core.checks import CheckMessage, Error
from django.db import OperationalError, connections

from shop.configuration.database_connections import DIRECT, SESSION_TIMEOUTS

# In the units of pg_settings: milliseconds, seconds, and a number.
UNITS = {"ms": 1, "s": 1000, "min": 60_000}

# The role's own settings, without those that this session was given since.
FIND_TIMEOUTS = "SELECT name, reset_val::bigint FROM pg_settings WHERE name = ANY(%s)"
FIND_DATABASE = "SELECT current_user, current_database(), system_identifier FROM pg_control_system()"


def check_pooler(**_context: Any) -> list[CheckMessage]:
    """An error for each timeout that the role lacks, with the sentence that sets it. Nothing without a pooler."""
    if DIRECT not in connections.settings:
        return []
    try:
        role, database, server = read_row("default")
        direct_database = read_row(DIRECT)[1:]
        timeouts = read_timeouts()
    except OperationalError as error:
        return [Error(f"PostgreSQL does not answer: {error}", id="shop.E002")]
    found: list[CheckMessage] = []
    if direct_database != (database, server):
        found.append(
            Error(
                "DATABASE_URL and DIRECT_DATABASE_URL lead to different databases: "
                f"“{database}” of server {server}, and “{direct_database[0]}” of server {direct_database[1]}.",
                hint="The second must be the database of the first, without the pooler.",
                id="shop.E003",
            )
        )
    for name, wanted in SESSION_TIMEOUTS.items():
        # A shorter one is as good; 0 means none, or the hours of the kernel.
        if not 0 < timeouts[name] <= in_units_of_server(wanted):
            found.append(
                Error(
                    f"Through the pooler, {name} is {timeouts[name]}: a host that loses its power in a transaction "
                    "would keep the rows of a sale locked.",
                    hint=f"ALTER ROLE \"{role}\" SET {name} = '{wanted}'; then RECONNECT in the pooler's console.",
                    id="shop.E001",
                )
            )
    return found


def read_row(alias: str) -> tuple[Any, ...]:
    with connections[alias].cursor() as cursor:
        cursor.execute(FIND_DATABASE)
        return tuple(cursor.fetchone())


def read_timeouts() -> dict[str, int]:
    with connections["default"].cursor() as cursor:
        cursor.execute(FIND_TIMEOUTS, [list(SESSION_TIMEOUTS)])
        return dict(cursor.fetchall())


def in_units_of_server(wanted: str | int) -> int:
    """`30s` in milliseconds; a plain number is in the setting's own unit already."""
    if isinstance(wanted, int):
        return wanted
    number = wanted.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(number) * UNITS[wanted.removeprefix(number)]
