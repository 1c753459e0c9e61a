"""PostgreSQL and two Valkey servers from Python wheels, in one directory; nothing has to be installed.

    .stampede/postgres  store  broker     data
    .stampede/logs/*.log                  the servers' logs
    .stampede/secrets.json                their passwords, kept so that a later start reads the same data
    .stampede/lock                        held by the process that uses the directory
    .stampede/servers.lock                inherited and held by each server process until it ends

For development and tests. Production brings its own servers (DATABASE_URL and the rest).
"""

import contextlib
import fcntl
import json
import os
import random
import secrets
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from shop.local.postgres import DataUnusable, PostgresServer
from shop.local.process import POLL_SECONDS, PortTaken, Process, ProcessFailed, stop_processes
from shop.local.valkey import BROKER_FSYNC, STORE_FSYNC, ValkeyServer

# Below the range from which the kernel takes the ports of outgoing connections (32768 and up on Linux, 49152
# and up on macOS). Inside that range a client that keeps trying to reconnect to a dead server on the same
# machine can be given the server's own port, connect to itself, and keep the server from coming back.
_PORTS = range(20_000, 32_000)

# After we have chosen a port and before the server listens on it, another program may take it.
PORT_ATTEMPTS = 3

# After kill -9 of a supervisor its servers get a signal and close their files. The next start waits this long.
_LEFTOVERS_SECONDS = 10.0

_START_SECONDS = 60.0


class DirectoryInUse(Exception):
    """Another run uses this directory. The message says what to do."""


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
            self._servers_lock = _lock_servers(directory=self.directory)
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
                    return self._start_processes()
                except PortTaken:
                    stop_processes(processes=self.processes)
                    if not attempts_left:
                        raise
        except BaseException:
            self.stop()
            raise

    def _start_processes(self) -> None:
        for process in self.processes:
            process.start()
        deadline = time.monotonic() + _START_SECONDS
        for process in self.processes:
            while not process.answers():
                if time.monotonic() > deadline:
                    raise ProcessFailed(
                        f"{process.name} gave no answer within {_START_SECONDS:.0f} s.\n{process.last_lines()}"
                    )
                time.sleep(POLL_SECONDS)

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


def lock_directory(*, directory: Path) -> IO[str]:
    """Create the directory if it is missing, and lock it until the returned file is closed.

    Raises DirectoryInUse at once when another process holds it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    lock = _open_lock(path=directory / "lock")
    if not _try_lock(lock=lock):
        holder = lock.read().strip() or "PID"
        lock.close()
        raise DirectoryInUse(
            f"{directory} is in use by process {holder}. Stop that one first (Ctrl-C in its terminal, or "
            f"`kill {holder}`): two sets of servers cannot share one directory."
        )
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def _lock_servers(*, directory: Path) -> IO[str]:
    """A lock that the servers inherit, so it is free only when all of an earlier start have ended.

    Without it, a start right after kill -9 could open an append-only file that a server is still closing.
    """
    lock = _open_lock(path=directory / "servers.lock")
    deadline = time.monotonic() + _LEFTOVERS_SECONDS
    while not _try_lock(lock=lock):
        if time.monotonic() > deadline:
            lock.close()
            raise DirectoryInUse(
                f"Servers of an earlier run still use {directory}. Find them with "
                f"`fuser {directory}/servers.lock`, stop them, and start again."
            )
        time.sleep(POLL_SECONDS)
    return lock


def _open_lock(*, path: Path) -> IO[str]:
    # Not truncated: until we hold the lock, the file names its holder.
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+")


def _try_lock(*, lock: IO[str]) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def write_private(*, path: Path, text: str) -> None:
    """Write a file that only its owner can read. It is replaced as a whole."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    unfinished.replace(path)


def free_ports(*, count: int) -> list[int]:
    """Different ports on which nothing listens. All are bound at the same time, so that no port is returned twice."""
    with contextlib.ExitStack() as bound:
        ports: list[int] = []
        while len(ports) < count:
            port = random.choice(_PORTS)
            listener = bound.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", port))
                ports.append(port)
        return ports
