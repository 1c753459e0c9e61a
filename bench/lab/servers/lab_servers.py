"""The servers that a set of strategies needs, brought up for as long as the lab is open."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.lab.servers.cluster import NODES, running_cluster
from bench.lab.servers.lab_store import LabStore, lab_store, store_client
from bench.strategies.base.strategy import Home, Strategy


@dataclass(frozen=True, slots=True)
class Site:
    """Where strategies of one home keep their stock: the address for clients, and our own eyes on each server."""

    store_url: str
    database_url: str | None
    watched: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Sites:
    """A site for each home that is needed, and the store itself, which a fault may restart."""

    store: LabStore
    by_home: dict[Home, Site]
    versions: dict[str, str]

    def of(self, kind: type[Strategy]) -> Site:
        return self.by_home[kind.home]


@contextlib.contextmanager
def open_sites(kinds: Iterable[type[Strategy]], *, database_url: str) -> Iterator[Sites]:
    """Start what these strategies need. The database is there already: the lab makes tables of its own in it."""
    homes = {kind.home for kind in kinds}
    with contextlib.ExitStack() as open_servers:
        store = open_servers.enter_context(lab_store())
        eyes = store_client(store.url, retries=1)
        open_servers.callback(eyes.close)
        plain = Site(store.url, None, [eyes])
        by_home = {Home.STORE: plain, Home.DATABASE: Site(store.url, database_url, [])}
        if Home.CLUSTER in homes:
            cluster = open_servers.enter_context(running_cluster())
            nodes = [cluster.node(number) for number in range(NODES)]
            for node in nodes:
                open_servers.callback(node.close)
            url = f"redis://:{cluster.password}@127.0.0.1:{cluster.ports[0]}/0"
            by_home[Home.CLUSTER] = Site(url, None, nodes)
        server = eyes.info("server")
        version = server.get("valkey_version") or server["redis_version"]
        yield Sites(store, by_home, {str(server.get("server_name", "redis")): str(version)})
