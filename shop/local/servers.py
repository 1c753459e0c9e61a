"""PostgreSQL and two Valkey servers from Python wheels, in one directory; nothing has to be installed.

    .stampede/postgres  store  broker     data
    .stampede/logs/*.log                  the servers' logs
    .stampede/secrets.json                their passwords, kept so that a later start reads the same data
    .stampede/lock                        held by the process that uses the directory
    .stampede/servers.lock                inherited and held by each server process until it ends

For development and tests. Production brings its own servers (DATABASE_URL and the rest).
"""

import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from shop.local.directory_lock import lock_directory, lock_servers
from shop.local.ports import PORT_ATTEMPTS, free_ports
from shop.local.postgres import DataUnusable, PostgresServer
from shop.local.process import PortTaken, Process, start_processes, stop_processes
from shop.local.valkey import BROKER_FSYNC, STORE_FSYNC, ValkeyServer

class EmbeddedServers:
    """PostgreSQL, the reservation store, and the cache and broker, under one directory.

    Call `start()` and `stop()`; or `prepare()`, run `processes` with a supervisor, and `close()`.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.processes: Sequence[Process] = ()
        self._lock: IO[str] | None = None
        self._servers_lock: IO[str] | None = None
        self._environment: dict[str, str] = {}

    def environment(self) -> dict[str, str]:
        """DATABASE_URL, SECKILL_REDIS_URL and REDIS_URL of the prepared servers."""
        return dict(self._environment)

    def prepare(self) -> None:
        """Create what is missing and choose ports. Starts nothing. The caller holds the lock of the directory.

        With the servers stopped it may be called again, which chooses other ports.

        Raises DirectoryInUse, WheelMissing, and DataUnusable when the data cannot be read by these servers.
        """
        if self._servers_lock is None:
            self._servers_lock = lock_servers(directory=self.directory)
        lock_fd = self._servers_lock.fileno()
        passwords = self._passwords()
        ports = free_ports(count=3)
        postgres = PostgresServer(directory=self.directory / "postgres", port=ports[0], password=passwords["postgres"])
        store = ValkeyServer(
            name="store",
            title="Valkey, reservation store",
            directory=self.directory / "store",
            fsync=STORE_FSYNC,
            port=ports[1],
            password=passwords["store"],
        )
        broker = ValkeyServer(
            name="broker",
            title="Valkey, cache and broker",
            directory=self.directory / "broker",
            fsync=BROKER_FSYNC,
            port=ports[2],
            password=passwords["broker"],
        )
        logs = self.directory / "logs"
        self.processes = [
            postgres.process(log_path=logs / "postgres.log", lock_fd=lock_fd),
            store.process(log_path=logs / "store.log", lock_fd=lock_fd),
            broker.process(log_path=logs / "broker.log", lock_fd=lock_fd),
        ]
        self._environment = {
            "DATABASE_URL": postgres.url,
            "SECKILL_REDIS_URL": store.url,
            "REDIS_URL": broker.url,
        }

    def start(self) -> None:
        """Start the three servers at the same time and return when all of them answer.

        Raises what `prepare` raises, and ProcessFailed when a server ends or does not answer in time.
        """
        self._lock = lock_directory(directory=self.directory)
        try:
            for attempts_left in reversed(range(PORT_ATTEMPTS)):
                self.prepare()
                try:
                    return start_processes(processes=self.processes)
                except PortTaken:
                    stop_processes(processes=self.processes)
                    if not attempts_left:
                        raise
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the servers, wait until they have ended, and release the directory. May be called twice."""
        stop_processes(processes=self.processes)
        self.close()

    def close(self) -> None:
        """Release the directory."""
        for lock in (self._servers_lock, self._lock):
            if lock:
                lock.close()
        self._servers_lock = self._lock = None

    def _passwords(self) -> dict[str, str]:
        path = self.directory / "secrets.json"
        if path.exists():
            passwords: dict[str, str] = json.loads(path.read_text())
            return passwords
        if (self.directory / "postgres").exists():
            raise DataUnusable(
                f"{self.directory}/postgres holds data, but its password is gone: {path} is missing. "
                f"Put the file back, or move {self.directory} away to start with empty data."
            )
        passwords = {name: secrets.token_hex(16) for name in ("postgres", "store", "broker")}
        write_private(path=path, text=json.dumps(passwords))
        return passwords


def write_private(*, path: Path, text: str) -> None:
    """Write a file that only its owner can read. It is replaced as a whole."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    unfinished.replace(path)
