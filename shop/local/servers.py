"""Real servers with nothing to install: PostgreSQL and two Valkeys from wheels, in one directory.

    .stampede/postgres  store  broker     data
    .stampede/logs/*.log                  what each server says
    .stampede/secrets.json                their passwords, kept so that a later start reads the same data
    .stampede/lock                        held while somebody works in the directory
    .stampede/servers.lock                inherited and held by each server process until it is gone

For development, tests and a first look. Production brings its own servers (DATABASE_URL and the rest).
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

# Between our choice of a port and the server's listening on it, another shop on the machine may take it.
PORT_ATTEMPTS = 3

# After kill -9 of a supervisor its servers get a signal and close their files; the next start waits for them.
_LEFTOVERS_SECONDS = 10.0

_START_SECONDS = 60.0


class DirectoryInUse(Exception):
    """Another run works in this directory. The message says what to do."""


class EmbeddedServers:
    """PostgreSQL, the reservation store, and the cache and broker, under one directory.

    Either `start()` and `stop()`, or `prepare()`, a supervisor of one's own that runs `processes`, and `close()`.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.processes: Sequence[Process] = ()
        self._lock: IO[str] | None = None
        self._inherited: IO[str] | None = None
        self._environment: dict[str, str] = {}

    def environment(self) -> dict[str, str]:
        """DATABASE_URL, SECKILL_REDIS_URL and REDIS_URL of the prepared servers."""
        return dict(self._environment)

    def prepare(self) -> None:
        """Make what is missing, choose ports, start nothing. The caller holds the directory.

        May be called again before `close()`, with the servers stopped, to have other ports.

        Raises DirectoryInUse, WheelMissing, and DataUnusable when the data cannot be read by these servers.
        """
        if self._inherited is None:
            self._inherited = _lock_servers(directory=self.directory)
        lock_fd = self._inherited.fileno()
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
        """Start the three servers side by side and return when all of them answer.

        Raises what `prepare` raises, and ProcessFailed when a server ends or stays silent.
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
        """Stop the servers, waiting until they are gone, and give the directory free. May be called twice."""
        stop_processes(processes=self.processes)
        self.close()

    def close(self) -> None:
        """Give the directory free."""
        for lock in (self._inherited, self._lock):
            if lock:
                lock.close()
        self._inherited = self._lock = None

    def _passwords(self) -> dict[str, str]:
        path = self.directory / "secrets.json"
        if path.exists():
            kept: dict[str, str] = json.loads(path.read_text())
            return kept
        if (self.directory / "postgres").exists():
            raise DataUnusable(
                f"{self.directory}/postgres holds data, but its password is gone: {path} is missing. "
                f"Put the file back, or move {self.directory} away to start with empty data."
            )
        made = {name: secrets.token_hex(16) for name in ("postgres", "store", "broker")}
        write_private(path=path, text=json.dumps(made))
        return made


def lock_directory(*, directory: Path) -> IO[str]:
    """Make the directory where it is missing, and hold it until the returned file is closed.

    Raises DirectoryInUse at once when somebody else holds it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    lock = _open_lock(path=directory / "lock")
    if not _locked(lock=lock):
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
    """A lock that the servers inherit: it is free only when the last process of the last start is gone.

    Without it, a start right after kill -9 could open an append-only file that a server is still closing.
    """
    lock = _open_lock(path=directory / "servers.lock")
    deadline = time.monotonic() + _LEFTOVERS_SECONDS
    while not _locked(lock=lock):
        if time.monotonic() > deadline:
            lock.close()
            raise DirectoryInUse(
                f"Servers of an earlier run still work in {directory}. Find them with "
                f"`fuser {directory}/servers.lock`, end them, and start again."
            )
        time.sleep(POLL_SECONDS)
    return lock


def _open_lock(*, path: Path) -> IO[str]:
    # Not truncated: until we hold it, what it says belongs to the holder.
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+")


def _locked(*, lock: IO[str]) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def write_private(*, path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    unfinished.replace(path)


def free_ports(*, count: int) -> list[int]:
    """Different ports on which nothing listens. All are bound together, so that none is given out twice."""
    with contextlib.ExitStack() as bound:
        ports: list[int] = []
        while len(ports) < count:
            port = random.choice(_PORTS)
            listener = bound.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", port))
                ports.append(port)
        return ports
