"""`manage.py migrations_applied`: a pod waits for the migrations of its release, and not for PostgreSQL itself."""

import socket
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from shop.management.commands import migrations_applied
from tests.other_database import own_url, shop_on

pytestmark = pytest.mark.django_db(transaction=True)


def said(url: str) -> str:
    """What the pod's first step says. Raises CommandError where the pod has to wait."""
    errors = StringIO()
    with shop_on(url):
        call_command("migrations_applied", stderr=errors)
    return errors.getvalue()


def test_a_pod_starts_when_all_are_applied() -> None:
    assert said(own_url()) == ""


def test_a_pod_waits_for_a_migration_of_its_release() -> None:
    recorder = MigrationRecorder(connection)
    ((app, last),) = MigrationLoader(connection).graph.leaf_nodes("orders")
    recorder.record_unapplied(app, last)
    try:
        with pytest.raises(CommandError, match=f"{app}.{last}"):
            said(own_url())
    finally:
        recorder.record_applied(app, last)


def test_a_pod_starts_while_postgresql_refuses_connections() -> None:
    assert "does not answer" in said("postgres://shop:secret@127.0.0.1:1/shop")


def test_a_pod_starts_while_postgresql_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a pooler is whose PostgreSQL is away: it takes the connection and says nothing."""
    monkeypatch.setattr(migrations_applied, "SECONDS_MAX", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert "no answer" in said(f"postgres://shop:secret@127.0.0.1:{silent.getsockname()[1]}/shop")
