"""The primaries of a reservation store that is a Cluster: which of them has an item.

All keys of an item have one hash tag, so one node has all of them, and its client is an ordinary `Redis`: scripts,
pipelines, TIME, INFO and WAIT mean what they mean on a single server. redis-py's RedisCluster reads the map of the
slots and keeps a pool for each node; its own commands are not used, since they repeat calls and wait for other nodes.

A thread reads the map again: every few seconds, and at once after a call that failed. No call waits for that, but for
the first one of a process.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

import structlog
from django_redis.pool import ConnectionFactory
from redis import Redis, RedisCluster
from redis.cluster import PRIMARY, ClusterNode
from redis.crc import key_slot
from redis.exceptions import ConnectionError, MovedError, RedisClusterException, RedisError, SlotNotCoveredError

from seckill.store.keys import barrier_key
from shop.background.lazy_thread import LazyThread
from shop.configuration.redis_address import read_address

log = structlog.get_logger(__name__)

REFRESH_SECONDS = 5.0
# After a failed call the map is read at once, and then this often for as long as a failover may take. Otherwise a
# worker that calls every few seconds would fail once more before it learns of the new primary.
REFRESH_SECONDS_MIN = 0.25
UNSETTLED_SECONDS = 15.0
# After so long without a call the thread ends. The next call starts it again.
ASKED_SECONDS = 60.0
# How long the first calls of a process wait for the map. With the call itself it stays below two seconds.
FIRST_MAP_SECONDS = 0.9


class ClusterNodes:
    """The nodes of one cluster, for all threads of this process."""

    def __init__(self, options: dict[str, Any], url: str) -> None:
        self._address = read_address(url)
        self._options = options
        self._cluster: RedisCluster | None = None
        self._known = threading.Event()
        self._wanted = threading.Event()
        self._closed = threading.Event()
        self._reader = LazyThread(self._refresh_while_asked, name="cluster-map")
        self._asked_s = 0.0
        self._unsettled_until_s = 0.0

    def client_of(self, item_id: int) -> Redis:
        """The client of the primary that has the item. Raises redis-py's ConnectionError if none is known."""
        cluster = self._read_cluster()
        try:
            node = cluster.nodes_manager.get_node_from_slot(slot_of(item_id))
        except SlotNotCoveredError as error:
            self.refresh_soon()
            raise ConnectionError(str(error)) from error
        return self._client(cluster, node)

    def known_client_of(self, item_id: int) -> Redis | None:
        """As `client_of`, from the map that is there, without waiting for one. None if it has no node for the item."""
        self._want_map()
        cluster = self._cluster
        if cluster is None:
            return None
        try:
            node = cluster.nodes_manager.get_node_from_slot(slot_of(item_id))
        except SlotNotCoveredError:
            self.refresh_soon()
            return None
        return self._client(cluster, node)

    def wait_for_map(self) -> None:
        """Wait until there is a map, FIRST_MAP_SECONDS at most."""
        with suppress(ConnectionError):
            self._read_cluster()

    def all_nodes(self) -> Sequence[tuple[ClusterNode, Redis]]:
        """Every node, replicas too. Raises redis-py's ConnectionError."""
        cluster = self._read_cluster()
        return [(node, self._client(cluster, node)) for node in known_nodes(cluster)]

    def close(self) -> None:
        """End the thread, even if calls go on: the next one starts another."""
        self._closed.set()
        self._wanted.set()
        self._reader.stop()
        self._closed.clear()

    def ping(self) -> bool:
        """Whether each primary answers. Raises the error of the first one that does not, as `Redis.ping` does."""
        cluster = self._read_cluster()
        primaries = [node for node in known_nodes(cluster) if node.server_type == PRIMARY]
        return all(self._client(cluster, node).ping() for node in primaries)

    def moved(self, error: MovedError) -> None:
        """Update the map: a node has answered that another one has the slot."""
        with suppress(KeyError):
            # A slot that the map does not have is not moved in it; the next map has it.
            self._read_cluster().nodes_manager.move_slot(error)
        self.refresh_soon()

    def refresh_soon(self) -> None:
        """Read the map again, in the thread, and for a while often: a replica may be about to take over."""
        self._unsettled_until_s = time.monotonic() + UNSETTLED_SECONDS
        self._wanted.set()

    def _client(self, cluster: RedisCluster, node: ClusterNode) -> Redis:
        if node.redis_connection is None:
            # A node that only MOVED has named so far.
            return cluster.get_redis_connection(node)
        return cast(Redis, node.redis_connection)

    def _want_map(self) -> None:
        self._asked_s = time.monotonic()
        self._reader.wake()

    def _read_cluster(self) -> RedisCluster:
        self._want_map()
        if self._cluster is None and not self._known.wait(FIRST_MAP_SECONDS):
            raise ConnectionError("no node of the cluster has answered yet")
        assert self._cluster is not None
        return self._cluster

    def _refresh_while_asked(self) -> None:
        failed = False
        while time.monotonic() - self._asked_s < ASKED_SECONDS and not self._closed.is_set():
            # Cleared before the map is read: a call that fails meanwhile wants it once more.
            self._wanted.clear()
            try:
                self._refresh()
                failed = False
            except (RedisError, RedisClusterException, OSError) as error:
                # Logged once. The calls that fail meanwhile are counted (seckill/store/failures.py).
                if not failed:
                    log.warning("cluster_map_not_read", error=str(error))
                failed = True
                self._wanted.set()
            if not self._closed.wait(REFRESH_SECONDS_MIN) and time.monotonic() > self._unsettled_until_s:
                self._wanted.wait(REFRESH_SECONDS)

    def _refresh(self) -> None:
        if self._cluster is None:
            self._cluster = self._connect()
            self._known.set()
            return
        known = [(node.host, node.port) for node in known_nodes(self._cluster)]
        # The pools of the nodes stay as they are: calls are under way.
        self._cluster.nodes_manager.initialize(
            additional_startup_nodes_info=known, disconnect_startup_nodes_pools=False
        )

    def _connect(self) -> RedisCluster:
        return RedisCluster(
            startup_nodes=[ClusterNode(host, port) for host, port in self._address.hosts],  # type: ignore[no-untyped-call]
            # Always ask the addresses of the setting too: all others may change, as in Kubernetes.
            dynamic_startup_nodes=False,
            require_full_coverage=False,
            username=self._address.username,
            password=self._address.password,
            ssl=self._address.tls,
            socket_timeout=self._options["SOCKET_TIMEOUT"],
            socket_connect_timeout=self._options["SOCKET_CONNECT_TIMEOUT"],
            **self._options["CONNECTION_POOL_KWARGS"],
        )


class ClusterFactory(ConnectionFactory):  # type: ignore[misc]
    """Gives django-redis the client of a Cluster: one ClusterNodes for each address and process."""

    _clusters: dict[str, ClusterNodes] = {}
    _clusters_lock = threading.Lock()

    def connect(self, url: str) -> Any:
        with self._clusters_lock:
            if url not in self._clusters:
                self._clusters[url] = ClusterNodes(self.options, url)
            return self._clusters[url]

    def disconnect(self, connection: ClusterNodes) -> None:
        """The pools stay open: other threads use them."""
        connection.close()


def known_nodes(cluster: RedisCluster) -> list[ClusterNode]:
    """Primaries and replicas."""
    return list(cluster.get_nodes())  # type: ignore[no-untyped-call]


@lru_cache(maxsize=10_000)
def slot_of(item_id: int) -> int:
    """The hash slot of the item's keys, or of a waiting room's."""
    return key_slot(barrier_key(item_id).encode())
