"""Starts the servers that a set of strategies needs."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from bench.lab.servers.cluster import running_cluster
from bench.lab.servers.lab_store import LabStore, client_at, lab_store, store_client
from bench.machine import facts
from bench.strategies.base.strategy import Backend, Strategy


@dataclass(frozen=True, slots=True)
class BackendServers:
    """Where strategies of one backend keep their stock. `monitors` are the lab's connections, one to each server."""

    store_url: str
    database_url: str | None
    monitors: Sequence[Any]


@dataclass(frozen=True, slots=True)
class LabServers:
    """The servers of each backend that is needed, and the store itself, which a fault may restart.

    `measured_on` are the facts of the machine before the run.
    """

    store: LabStore
    by_backend: dict[Backend, BackendServers]
    measured_on: dict[str, str]

    def of(self, kind: type[Strategy]) -> BackendServers:
        return self.by_backend[kind.backend]


@contextlib.contextmanager
def running_lab_servers(kinds: Iterable[type[Strategy]], *, database_url: str) -> Iterator[LabServers]:
    """The servers for the length of a `with`. The database runs already: the lab makes tables of its own in it."""
    backends = {kind.backend for kind in kinds}
    with contextlib.ExitStack() as open_servers:
        store = open_servers.enter_context(lab_store())
        monitor = store_client(store.url, retries=1)
        open_servers.callback(monitor.close)
        plain = BackendServers(store.url, None, [monitor])
        by_backend = {Backend.STORE: plain, Backend.DATABASE: BackendServers(store.url, database_url, [])}
        if Backend.CLUSTER in backends:
            cluster = open_servers.enter_context(running_cluster())
            nodes = [client_at(node.port, password=node.password) for node in cluster.nodes]
            for node in nodes:
                open_servers.callback(node.close)
            by_backend[Backend.CLUSTER] = BackendServers(cluster.url, None, nodes)
        valkey = str(monitor.info("server")["valkey_version"])
        yield LabServers(store, by_backend, {**facts(), "redis-py": version("redis"), "Valkey": valkey})
