"""PostgreSQL and two Valkey servers from Python wheels, in one directory; nothing has to be installed.

The reservation store is one server, or several behind Sentinel or as a Cluster (shop/local/stores/).

    .stampede/postgres  store  broker     data
    .stampede/store-sentinel  -cluster    data of the other kinds of reservation store
    .stampede/logs/*.log                  the servers' logs
    .stampede/secrets.json                their passwords, kept so that a later start reads the same data
    .stampede/lock                        held by the process that uses the directory
    .stampede/servers.lock                inherited and held by each server process until it ends

For development and tests. Production brings its own servers (DATABASE_URL and the rest).
"""

import json
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from shop.configuration.redis_address import StoreKind
from shop.local.directory_lock import lock_directory, lock_servers
from shop.local.ports import free_ports
from shop.local.postgres import DataUnusable, PostgresServer
from shop.local.private_file import write_private
from shop.local.process import POLL_SECONDS, Process, start_on_free_ports, start_processes, stop_processes
from shop.local.stores.cluster_store import ClusterStore
from shop.local.stores.replicated_store import ReplicatedStore
from shop.local.stores.sentinel_store import SentinelStore
from shop.local.valkey import BROKER_FSYNC, STORE_FSYNC, ValkeyServer

REPLICATED_STORES = {StoreKind.SENTINEL: SentinelStore, StoreKind.CLUSTER: ClusterStore}


class EmbeddedServers:
    """PostgreSQL, the reservation store, and the cache and broker, under one directory.

    Call `start()` and `stop()`; or `prepare()`, run `processes` with a supervisor, `settle()`, run `watchers` too, and
    `close()`.
    """

    def __init__(self, directory: Path, *, store: StoreKind = StoreKind.SINGLE, replicas_min: int = 0) -> None:
        """`replicas_min` is how many replicas a primary of the store must see to accept writes."""
        self.directory = directory.resolve()
        self.processes: Sequence[Process] = ()
        self.watchers: Sequence[Process] = ()
        # The reservation store, where it is not a single server.
        self.replicated: ReplicatedStore | None = None
        self._store_kind = store
        self._replicas_min = replicas_min
        self._lock: IO[str] | None = None
        self._servers_lock: IO[str] | None = None
        self._environment: dict[str, str] = {}

    def environment(self) -> dict[str, str]:
        """DATABASE_URL, SECKILL_REDIS_URL and REDIS_URL of the prepared servers."""
        return dict(self._environment)

    def prepare(self) -> None:
        """Create missing files and choose ports. Starts nothing. The caller holds the lock of the directory.

        With the servers stopped it may be called again, which chooses other ports.

        Raises DirectoryInUse, WheelMissing, and DataUnusable when the data cannot be read by these servers.
        """
        if self._servers_lock is None:
            self._servers_lock = lock_servers(directory=self.directory)
        lock_fd = self._servers_lock.fileno()
        passwords = self._passwords()
        logs = self.directory / "logs"
        ports = free_ports(count=3)
        postgres = PostgresServer(directory=self.directory / "postgres", port=ports[0], password=passwords["postgres"])
        store_processes, store_url = self._prepare_store(
            port=ports[1], password=passwords["store"], logs=logs, lock_fd=lock_fd
        )
        broker = ValkeyServer(
            name="broker",
            title="Valkey, cache and broker",
            directory=self.directory / "broker",
            fsync=BROKER_FSYNC,
            port=ports[2],
            password=passwords["broker"],
        )
        self.processes = [
            postgres.process(log_path=logs / "postgres.log", lock_fd=lock_fd),
            *store_processes,
            broker.process(log_path=logs / "broker.log", lock_fd=lock_fd),
        ]
        self._environment = {
            "DATABASE_URL": postgres.url,
            "SECKILL_REDIS_URL": store_url,
            "REDIS_URL": broker.url,
        }

    def _prepare_store(self, *, port: int, password: str, logs: Path, lock_fd: int) -> tuple[Sequence[Process], str]:
        """The processes of the reservation store that start with the others, and its address."""
        if self._store_kind is StoreKind.SINGLE:
            store = ValkeyServer(
                name="store",
                title="Valkey, reservation store",
                directory=self.directory / "store",
                fsync=STORE_FSYNC,
                port=port,
                password=password,
            )
            return [store.process(log_path=logs / "store.log", lock_fd=lock_fd)], store.url
        self.replicated = REPLICATED_STORES[self._store_kind](
            directory=self.directory / f"store-{self._store_kind}",
            password=password,
            replicas_min=self._replicas_min,
            log_directory=logs,
        )
        self.replicated.prepare(lock_fd=lock_fd)
        self.watchers = [node.process for node in self.replicated.watchers]
        return [node.process for node in self.replicated.nodes], self.replicated.url

    def settle(self, *, pause: Callable[[], None]) -> None:
        """Once all processes answer: return when the replicas of the store have its data. Raises ProcessFailed."""
        if self.replicated:
            self.replicated.settle(pause=pause)

    def start(self) -> None:
        """Start the servers at the same time and return when all of them answer.

        Raises what `prepare` raises, and ProcessFailed when a server ends or does not answer in time.
        """
        self._lock = lock_directory(directory=self.directory)
        try:
            start_on_free_ports(prepare=self.prepare, start=self._start_prepared, stop=self._stop_processes)
        except BaseException:
            self.stop()
            raise

    def _start_prepared(self) -> None:
        start_processes(processes=self.processes)
        self.settle(pause=lambda: time.sleep(POLL_SECONDS))
        start_processes(processes=self.watchers)

    def stop(self) -> None:
        """Stop the servers, wait until they have ended, and release the directory. May be called twice."""
        self._stop_processes()
        self.close()

    def _stop_processes(self) -> None:
        stop_processes(processes=[*self.processes, *self.watchers])

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
