"""A Valkey that is started for the lab, or for a measurement, and thrown away afterwards."""

import contextlib
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from redis import Redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry

from bench.strategies.base.strategy import Backend
from shop.local.ports import free_port
from shop.local.process import Process, start_processes
from shop.local.valkey import STORE_FSYNC, ValkeyServer

# A restart takes some tenths of a second; a client that waits longer than this fails instead of hanging.
CLIENT_SECONDS_MAX = 5.0


class LabStore:
    """One Valkey, as durable as the shop's own unless its settings say otherwise. It keeps its port, so that clients
    find it after a restart. The `with` starts it.
    """

    def __init__(
        self, directory: Path, *, port: int, password: str, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory / "data"
        server = ValkeyServer(
            name="lab-store",
            title="Valkey of the lab",
            directory=self.directory,
            fsync=STORE_FSYNC,
            port=port,
            password=password,
            more="".join(f"{name} {value}\n" for name, value in settings.items()),
        )
        self.url = server.url
        self._lock = (directory / "lock").open("w")
        self.process: Process = server.process(log_path=directory / "valkey.log", lock_fd=self._lock.fileno())

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and return when it answers, its data read. Raises ProcessFailed."""
        start_processes(processes=[self.process])

    def restart(self, *, losing_all: bool = False) -> None:
        """kill -9 and start again, with the data that is on the disk, or without any."""
        self.kill()
        if losing_all:
            for data in self.directory.glob("appendonlydir*"):
                shutil.rmtree(data)
        self.start()

    def kill(self) -> None:
        """kill -9. May be called twice."""
        self.process.kill()

    def stop(self) -> None:
        self.kill()
        self._lock.close()


@contextlib.contextmanager
def lab_store() -> Iterator[LabStore]:
    with (
        tempfile.TemporaryDirectory(prefix="stampede-lab-") as directory,
        LabStore(Path(directory), port=free_port(), password=secrets.token_hex(16)) as store,
    ):
        yield store


def store_client(url: str, *, retries: int = 0) -> Any:
    """A client that sends each command once, as the shop's own does: retrying is up to the caller."""
    return Redis.from_url(
        url,
        retry=Retry(NoBackoff(), retries),
        socket_timeout=CLIENT_SECONDS_MAX,
        socket_connect_timeout=CLIENT_SECONDS_MAX,
    )


def client_at(port: int, *, password: str) -> Any:
    """The same for a server of this machine, also for commands that the shop never sends: FLUSHALL, REPLICAOF, …"""
    return store_client(f"redis://:{password}@127.0.0.1:{port}/0")


def strategy_client(url: str, *, backend: Backend, retries: int = 0) -> Any:
    """A client of the store or of the cluster; None for a strategy that keeps its stock in the database.

    `retries` is for the lab's own connections, which must work again after a restart; buyers have none.
    """
    if backend is Backend.DATABASE:
        return None
    if backend is Backend.CLUSTER:
        return RedisCluster.from_url(url, socket_timeout=CLIENT_SECONDS_MAX)
    return store_client(url, retries=retries)
