"""`manage.py migrations_applied`: a pod waits for the migrations of its release, and not for PostgreSQL itself.

And `manage.py migrate`: of two, the second waits for the first.
"""

import socket
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from shop.management.commands import migrations_applied
from shop.management.commands.migrate import LOCK
from tests.other_database import own_url, shop_on
from tests.processes import wait_until
from tests.steps.at_once import run_and_close

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


def test_a_second_migrate_waits_for_the_end_of_the_first() -> None:
    said = StringIO()
    migrate = run_and_close(lambda: call_command("migrate", verbosity=0, stdout=said))
    with psycopg.connect(own_url(), autocommit=True) as first, ThreadPoolExecutor(1) as thread:
        first.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        second = thread.submit(migrate)
        wait_until(lambda: "Another migrate" in said.getvalue(), seconds_max=30)
        # An index can be made concurrently: no statement of the second one is open.
        running = "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()"
        wait_until(lambda: first.execute(running).fetchone() == (0,), seconds_max=30)
        assert not second.done()
        first.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
        second.result(timeout=60)
        assert first.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone() == (True,)
