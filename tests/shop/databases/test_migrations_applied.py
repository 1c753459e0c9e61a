"""`manage.py migrations_applied`: a pod waits for the migrations of its release, and not for PostgreSQL itself."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from tests.other_database import own_url

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.django_db(transaction=True)


def run(url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "migrations_applied"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url, "DIRECT_DATABASE_URL": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_pod_starts_when_all_are_applied() -> None:
    done = run(own_url())
    assert done.returncode == 0, done.stderr


def test_a_pod_waits_for_a_migration_of_its_release() -> None:
    recorder = MigrationRecorder(connection)
    ((app, last),) = MigrationLoader(connection).graph.leaf_nodes("orders")
    recorder.record_unapplied(app, last)
    try:
        done = run(own_url())
    finally:
        recorder.record_applied(app, last)
    assert done.returncode != 0
    assert f"{app}.{last}" in done.stderr


def test_a_pod_starts_while_postgresql_refuses_connections() -> None:
    done = run("postgres://shop:secret@127.0.0.1:1/shop")
    assert done.returncode == 0, done.stderr
    assert "does not answer" in done.stderr


def test_a_pod_starts_while_postgresql_is_silent() -> None:
    """As a pooler is whose PostgreSQL is away: it takes the connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = run(f"postgres://shop:secret@127.0.0.1:{silent.getsockname()[1]}/shop")
    assert done.returncode == 0, done.stderr
