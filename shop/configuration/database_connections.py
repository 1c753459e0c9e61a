"""How the shop's processes connect to PostgreSQL: straight, through a pooler, and to a replica for reading.

One address (DATABASE_URL) is the usual case, and then there is one connection. Where it leads to a pooler in
transaction mode (PgBouncer), each transaction may meet another session of the server, so nothing may be kept in one:
DIRECT_DATABASE_URL is the address without the pooler, for what needs a session.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

POSTGRESQL = "django.db.backends.postgresql"
# The alias of the connection that bypasses the pooler, and of the one that reads from a replica. Either may be missing.
DIRECT = "direct"
REPLICA = "replica"

# A host that loses its power in a transaction must not keep the rows of a sale locked for the two hours of the kernel's
# default: the server notices a dead client within 25 s, and ends a transaction that is idle for 30 s. A process that
# waits for such rows gives up after 10 s: a page answers 503, a sweep comes again, and threads stay free for others.
SESSION_TIMEOUTS: dict[str, str | int] = {
    "idle_in_transaction_session_timeout": "30s",
    "lock_timeout": "10s",
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
}

# Proxies wait for 15 s, and then nobody reads the answer any more. No page of the shop asks for more than a second.
WEB_STATEMENT_SECONDS = 10
# A migration that waits for a lock makes everybody wait who comes after it. It gives up instead, and is started again.
SCHEMA_TIMEOUTS: dict[str, str | int] = {**SESSION_TIMEOUTS, "lock_timeout": "5s"}

# Commands that change tables. They work on the direct connection alone, as their default one: a step in Python that
# used the pooler would wait for the locks of its own migration.
SCHEMA_COMMANDS = frozenset({"migrate", "add_languages", "sync_translation_fields"})


def databases(
    *, url: str, direct_url: str, replica_url: str, argv: Sequence[str], owner_url: str = ""
) -> dict[str, dict[str, Any]]:
    """Django's DATABASES. All addresses but the first may be empty; `argv` is the command line of the process.

    `owner_url` is that of the role that has the tables, for commands that change them.
    """
    if SCHEMA_COMMANDS.intersection(argv[1:2]):
        # Without the other aliases, so that none of them can be named by mistake.
        name = "OWNER_DATABASE_URL" if owner_url else "DIRECT_DATABASE_URL" if direct_url else "DATABASE_URL"
        given = read_url(owner_url or direct_url or url, setting=name)
        return {"default": straight(given, timeouts=SCHEMA_TIMEOUTS)}
    parsed = {
        alias: read_url(text, setting=setting)
        for alias, setting, text in (
            ("default", "DATABASE_URL", url),
            (DIRECT, "DIRECT_DATABASE_URL", direct_url),
            (REPLICA, "REPLICA_DATABASE_URL", replica_url),
        )
        if text or alias == "default"
    }
    found = {"default": pooled(parsed["default"]) if DIRECT in parsed else straight(parsed["default"])}
    if DIRECT in parsed:
        # Closed after each request and task: sessions of the server are few where a pooler is wanted.
        found[DIRECT] = {**straight(parsed[DIRECT]), "CONN_MAX_AGE": 0, "TEST": {"MIRROR": "default"}}
    if REPLICA in parsed:
        # Where the shop has poolers, the replica may be behind one too.
        connected = pooled if DIRECT in parsed else straight
        found[REPLICA] = {**connected(parsed[REPLICA]), "TEST": {"MIRROR": "default"}}
    return found


def read_url(url: str, *, setting: str) -> dict[str, Any]:
    """Django's settings of the address. Raises ImproperlyConfigured, with the name of the setting and no password."""
    try:
        if environ.Env.DB_SCHEMES.get(urlsplit(url).scheme) == POSTGRESQL:
            given = dict(environ.Env.db_url_config(url))
            if given["NAME"] or "service" in given.get("OPTIONS", {}):
                return given
    except ValueError:
        # A port that is no number.
        pass
    raise ImproperlyConfigured(
        f"{setting} is not the address of a PostgreSQL database: write postgres://user:password@host:5432/name."
    )


def straight(given: dict[str, Any], *, timeouts: Mapping[str, str | int] = SESSION_TIMEOUTS) -> dict[str, Any]:
    """A connection whose session is ours alone. The OPTIONS of the address, in `given`, come first."""
    return kept_for_a_minute(given, {"options": " ".join(f"-c {name}={value}" for name, value in timeouts.items())})


def bound_statements(databases: dict[str, dict[str, Any]]) -> None:
    """For web processes, before their first connection: no statement runs for longer than WEB_STATEMENT_SECONDS.

    Connections through a pooler stay as they are (docs/postgres.md).
    """
    for connection in databases.values():
        if options := connection["OPTIONS"].get("options"):
            connection["OPTIONS"]["options"] = f"{options} -c statement_timeout={WEB_STATEMENT_SECONDS}s"


def pooled(given: dict[str, Any]) -> dict[str, Any]:
    """A connection whose session may change with each transaction.

    It sends no `options`, which PgBouncer before 1.20 refuses: the role must have the timeouts (shop/databases/
    pooler_check.py). A cursor on the server would be gone with the session that has it. Statements are never prepared:
    that is Django's default.
    """
    return {**kept_for_a_minute(given, {}), "DISABLE_SERVER_SIDE_CURSORS": True}


def kept_for_a_minute(given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    return {
        **given,
        # A thread of the web server keeps its connection for a minute: a new one costs more than a query.
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": 2,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
            **options,
            **given.get("OPTIONS", {}),
        },
    }
