"""A PostgreSQL with a standby for one test: to be killed, to be promoted, and to lag behind."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.conf import settings

from bench.postgres_copy import copy_server
from shop.local.ports import free_port
from shop.local.postgres import PostgresServer
from shop.local.process import Process, start_processes
from tests.other_database import own_url, with_database
from tests.processes import descendants, living, wait_until

# Many times what it takes, for a busy machine.
STEP_SECONDS_MAX = 20.0


class OwnPostgres:
    """A copy of another server, made while that one runs. With `follows`, a standby of it.

    Without `source_url` it has what the directory has, or an empty database.
    """

    def __init__(self, directory: Path, *, source_url: str | None, follows: bool = False) -> None:
        self._lock = (directory.parent / f"{directory.name}.lock").open("w")
        if source_url is not None:
            copy_server(directory, source_url=source_url, follows=follows)
        port, password = free_port(), urlsplit(settings.DATABASE_URL).password or ""
        server = PostgresServer(directory=directory, port=port, password=password)
        self.url = with_database(settings.DATABASE_URL, port=port) if source_url else server.url
        log_path = directory.parent / f"{directory.name}.log"
        self.process: Process = server.process(log_path=log_path, lock_fd=self._lock.fileno())
        self.start()

    def start(self) -> None:
        start_processes(processes=[self.process])

    def ask(self, query: str) -> Any:
        """The first column of the first row, from a connection that ends with the call."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None

    def tell(self, *statements: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def wait_until(self, query: str) -> None:
        """Until the answer is true."""
        wait_until(lambda: bool(self.ask(query)), seconds_max=STEP_SECONDS_MAX)

    def promote(self) -> None:
        assert self.ask("SELECT pg_promote(true, 60)")

    def kill(self) -> None:
        """kill -9 of the server and its children, which are in sessions of their own. All have ended when it returns:
        a start refuses to work beside them.
        """
        children = descendants(pid=self.process.pid) if self.process.pid and self.process.running else set()
        self.process.kill()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        wait_until(lambda: not living(pids=children), seconds_max=STEP_SECONDS_MAX)

    def stop(self) -> None:
        """At once, but by the server itself: a killed one leaves a megabyte of shared memory behind."""
        try:
            if self.process.pid and self.process.running:
                os.kill(self.process.pid, signal.SIGQUIT)
                wait_until(lambda: not self.process.running, seconds_max=STEP_SECONDS_MAX)
        finally:
            self.kill()
            self._lock.close()


class Pair:
    """A primary with the tables of the shop, and its standby."""

    def __init__(self, directory: Path) -> None:
        self.primary = OwnPostgres(directory / "primary", source_url=own_url(), follows=False)
        try:
            self.standby = OwnPostgres(directory / "standby", source_url=self.primary.url, follows=True)
        except BaseException:
            self.primary.stop()
            raise
        self.primary.wait_until("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')")

    def catch_up(self) -> None:
        """Until the standby has applied all that the primary has written."""
        written = self.primary.ask("SELECT pg_current_wal_lsn()")
        self.standby.wait_until(f"SELECT pg_last_wal_replay_lsn() >= '{written}'")

    def cut(self) -> None:
        """From now on the standby gets nothing."""
        self.standby.tell("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
        self.standby.wait_until("SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)")

    def stop(self) -> None:
        self.standby.stop()
        self.primary.stop()


@contextmanager
def running_pair(directory: Path) -> Iterator[Pair]:
    pair = Pair(directory)
    try:
        yield pair
    finally:
        pair.stop()
