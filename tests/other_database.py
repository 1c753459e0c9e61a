"""The shop on another database than that of the test run, for a part of a test that is not in a transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler

from shop.configuration.database_connections import databases


def with_database(url: str, *, port: int | None = None) -> str:
    """The address of the running test's database, on the server of `url`, or on that port of its host."""
    parts = urlsplit(url)._replace(path=f"/{connection.settings_dict['NAME']}")
    if port is not None:
        parts = parts._replace(netloc=f"{parts.netloc.rpartition(':')[0]}:{port}")
    return parts.geturl()


def own_url() -> str:
    """The address of the running test's own database."""
    return with_database(settings.DATABASE_URL)


@contextmanager
def shop_on(url: str, *, direct_url: str = "", replica_url: str = "") -> Iterator[None]:
    """For this thread, and for threads that begin meanwhile, the settings have these addresses."""
    wanted = databases(url=url, direct_url=direct_url, replica_url=replica_url, argv=[])
    configured = ConnectionHandler(wanted).settings
    former = connections["default"]
    with mock.patch.dict(connections.settings, configured):
        del connections["default"]
        for alias in configured.keys() - {"default"}:
            allow(connections[alias])
        try:
            yield
        finally:
            for alias in configured:
                if hasattr(connections._connections, alias):  # type: ignore[attr-defined]
                    connections[alias].close()
                    del connections[alias]
            connections["default"] = former


def allow(connection: BaseDatabaseWrapper) -> None:
    """Django's tests refuse connections to aliases that a test has not declared, and these do not exist before it."""

    def connect_if_needed() -> None:
        if connection.connection is None:
            with connection.wrap_database_errors:
                connection.connect()

    connection.ensure_connection = connect_if_needed  # type: ignore[method-assign]
