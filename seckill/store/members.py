"""Every server of the reservation store, replicas too, each with a client of its own, for checking their settings."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from redis import Redis
from redis.cluster import PRIMARY

from seckill.store.cluster import ClusterNodes

# What a replica's client takes over from that of its primary.
SAME = ("username", "password", "db", "socket_timeout", "socket_connect_timeout", "socket_keepalive", "retry")


@dataclass(frozen=True, slots=True)
class Member:
    """One server. `name` is host:port; `primary` for that of an address that names it, empty if it is the only one."""

    name: str
    primary: bool
    client: Redis


def cluster_members(nodes: ClusterNodes) -> list[Member]:
    """Raises redis-py's ConnectionError."""
    return [Member(node.name, node.server_type == PRIMARY, client) for node, client in nodes.all_nodes()]


def members_of(primary: Redis, replication: dict[str, Any]) -> list[Member]:
    """The primary and its replicas, by its INFO replication."""
    found = online_replicas(replication)
    replicas = [Member(f"{host}:{port}", False, replica_client(primary, host, port)) for host, port in found]
    return [Member("primary" if replicas else "", True, primary), *replicas]


def online_replicas(replication: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Where the replicas of a primary are that are online."""
    for name, value in replication.items():
        if name.startswith("slave") and name[5:].isdigit() and value.get("state") == "online":
            yield str(value["ip"]), int(value["port"])


def replica_client(primary: Redis, host: str, port: int) -> Redis:
    given = primary.connection_pool.connection_kwargs
    same = {name: given[name] for name in SAME if name in given}
    secured = "ssl" in primary.connection_pool.connection_class.__name__.lower()
    return Redis(host=host, port=port, ssl=secured, **same)
