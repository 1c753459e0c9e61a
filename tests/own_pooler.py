"""A PgBouncer in transaction mode for one test, in front of the PostgreSQL of the run.

After each transaction it makes the session of the server forget everything (`server_reset_query_always`): whatever the
shop kept in a session is gone for certain, and not only sometimes.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings

from shop.local.ports import free_port
from shop.local.postgres_account import make_reachable, postgres_account
from shop.local.process import Process, start_processes
from tests.other_database import with_database

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
# Fewer than the connections that a test has at a time.
POOL_SIZE = 2


class OwnPooler:
    def __init__(self, directory: Path, *, passwords: Mapping[str, str]) -> None:
        """`passwords`: of more roles than that of the test run."""
        if PGBOUNCER is None:
            reason = "PgBouncer is not installed (Debian: apt install pgbouncer)"
            pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
        server = urlsplit(settings.DATABASE_URL)
        self.port = free_port()
        users = {server.username or "": server.password or "", **passwords}
        account = postgres_account(data=directory)
        self._write(directory / "users.txt", "".join(f'"{name}" "{word}"\n' for name, word in users.items()))
        self._write(
            directory / "pgbouncer.ini",
            f"""
            [databases]
            * = host=127.0.0.1 port={server.port}
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = {self.port}
            unix_socket_dir =
            auth_type = scram-sha-256
            auth_file = {directory / "users.txt"}
            admin_users = {server.username}
            pool_mode = transaction
            default_pool_size = {POOL_SIZE}
            server_reset_query_always = 1
            """,
        )
        if account:
            make_reachable(place=directory / "users.txt")
        self.process = Process(
            name="pgbouncer",
            title="PgBouncer of a test",
            argv=[str(PGBOUNCER), str(directory / "pgbouncer.ini")],
            log_path=directory / "pgbouncer.log",
            ready=lambda _: self._answers(),
            account=account,
        )

    @property
    def url(self) -> str:
        """The running test's database, through the pooler."""
        return with_database(settings.DATABASE_URL, port=self.port)

    def _write(self, path: Path, text: str) -> None:
        path.write_text("\n".join(line.strip() for line in text.splitlines()) + "\n")
        # PgBouncer does not run as root either, and nobody else is in the directory.
        path.chmod(0o644)

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.url, connect_timeout=2, autocommit=True) as connection:
                return bool(connection.execute("SELECT 1").fetchone())
        except psycopg.OperationalError:
            return False


@contextmanager
def running_pooler(directory: Path, **passwords: str) -> Iterator[OwnPooler]:
    """A pooler for the length of a `with`. Skips the test where there is no PgBouncer, and fails it in CI."""
    pooler = OwnPooler(directory, passwords=passwords)
    try:
        start_processes(processes=[pooler.process])
        yield pooler
    finally:
        pooler.process.kill()
