"""A Valkey server for one test, to fill up, to kill, or to run as a cluster; and stores of several servers."""

import contextlib
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.test import override_settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from seckill.store import client
from seckill.store.client import reservation_servers
from seckill.store.cluster import ClusterNodes
from shop.configuration.store_clients import redis_cache
from shop.local.ports import free_port
from shop.local.process import Process, start_processes
from shop.local.stores.replicated_store import ReplicatedStore
from shop.local.valkey import STORE_FSYNC, ValkeyServer

Replicated = TypeVar("Replicated", bound=ReplicatedStore)


class OwnStore:
    """One server with one directory and one port, so that clients find it again after a restart."""

    def __init__(self, directory: Path, **options: str) -> None:
        """`options` go to the server as they are, with `_` for `-`: cluster_enabled="yes"."""
        directory.mkdir(parents=True, exist_ok=True)
        self.server = ValkeyServer(
            name="own-store",
            title="Valkey of a test",
            directory=directory / "data",
            fsync=STORE_FSYNC,
            port=free_port(),
            password="of-a-test",
        )
        lock = (directory / "lock").open("w")
        self.process: Process = self.server.process(log_path=directory / "valkey.log", lock_fd=lock.fileno())
        self._lock = lock
        arguments = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
        self.process.argv = [*self.process.argv, *arguments]
        self.client: Any = Redis.from_url(self.server.url, retry=Retry(NoBackoff(), 0), socket_timeout=5)

    @property
    def url(self) -> str:
        return self.server.url

    def start(self) -> None:
        """Start the server and return when it has read its data and answers."""
        start_processes(processes=[self.process])

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()

    def stop(self) -> None:
        self.client.close()
        self.process.kill()
        self._lock.close()

    @contextlib.contextmanager
    def full(self, *, room_bytes: int | None = None) -> Iterator[None]:
        """The server is full, or has `room_bytes` left, as with maxmemory under noeviction."""
        used_bytes = self.client.info("memory")["used_memory"]
        self.client.config_set("maxmemory", 1 if room_bytes is None else used_bytes + room_bytes)
        try:
            yield
        finally:
            self.client.config_set("maxmemory", "0")

    def calls(self) -> Mapping[str, int]:
        """How often each command has run since the server started, also inside scripts."""
        stats: dict[str, Any] = self.client.info("commandstats")
        return {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in stats.items()}


@contextlib.contextmanager
def running(directory: Path, **options: str) -> Iterator[OwnStore]:
    """A server for the length of a `with`."""
    own_store = OwnStore(directory, **options)
    try:
        own_store.start()
        yield own_store
    finally:
        own_store.stop()


@contextlib.contextmanager
def running_replicated(kind: type[Replicated], **options: Any) -> Iterator[Replicated]:
    """A SentinelStore or ClusterStore for the length of a `with`."""
    with tempfile.TemporaryDirectory(prefix="stampede-") as directory:
        store = kind(directory=Path(directory), password="of-a-test", **options)
        try:
            store.start()
            yield store
        finally:
            store.stop()


@contextlib.contextmanager
def as_reservation_store(own_store: OwnStore | ReplicatedStore) -> Iterator[None]:
    """The ledger uses this store, with the settings of the shop, instead of the one of the test run.

    The cache stays where it is: what is counted there must not appear among the keys of a sale.
    """
    caches = {**settings.CACHES, "seckill": redis_cache(own_store.url, timeout_seconds=0.9)}
    try:
        with override_settings(CACHES=caches):
            try:
                yield
            finally:
                servers = reservation_servers()
                if isinstance(servers, ClusterNodes):
                    # Its thread draws random numbers, which Hypothesis takes for a fault of the tests that come after.
                    servers.close()
    finally:
        # A thread that asked while the settings changed may have kept the client of before with the new settings.
        client._found.clear()


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """The port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]
