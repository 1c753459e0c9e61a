"""Asking the reservation store: the server that has an item, or each server that has some of several items.

The address of the store decides what a server is (shop/configuration/redis_address.py): the only one, the primary that
the sentinels name now, or one of the primaries of a Cluster. Each caller gets an ordinary client of that server.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from django.core.cache import caches
from django_redis import get_redis_connection
from redis import Redis
from redis.cluster import PRIMARY
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TimeoutError,
    TryAgainError,
)
from redis.sentinel import MasterNotFoundError, SentinelConnectionPool

from seckill.store.barrier import TooFewReplicas
from seckill.store.breaker import breaker_of
from seckill.store.cluster import ClusterNodes
from seckill.store.failures import Cause, report_failure
from shop.background.outages import ServerAway

Result = TypeVar("Result")

# The options that a replica's client takes over from the client of its primary.
SAME = ("username", "password", "db", "socket_timeout", "socket_connect_timeout", "socket_keepalive", "retry")

# How often the sentinels may be asked again where a primary has too few replicas, and when each pool last did.
RECONNECT_SECONDS = 1.0
_reconnected_s: WeakKeyDictionary[Any, float] = WeakKeyDictionary()

# The client of `reservation_servers`, and the settings that it was made with, since tests change them.
_found: dict[str, tuple[object, Any]] = {}


class StoreUnreachable(ServerAway):
    """The reservation store did not answer, or refused. A call that was under way may or may not have taken effect."""

    def __init__(self, message: str = "", *, cause: Cause = Cause.UNREACHABLE) -> None:
        super().__init__(message)
        self.cause = cause


def ask(step: Callable[[Redis], Result], *, item_id: int) -> Result:
    """Call `step` with the client of the server that has the item. Every RedisError becomes StoreUnreachable.

    Where the item has moved to another node of a Cluster, `step` is called a second time, with that node's client: the
    first one has answered without doing anything for the keys that moved, and what else it did can be repeated.
    """
    servers = reservation_servers()
    if not isinstance(servers, ClusterNodes):
        return ask_member(step, client=servers)
    try:
        return _call(step, client=_node_of(item_id, nodes=servers))
    except MovedError as error:
        servers.moved(error)
    except StoreUnreachable:
        # Perhaps another node has been promoted.
        servers.refresh_soon()
        raise
    try:
        return _call(step, client=_node_of(item_id, nodes=servers))
    except MovedError as error:
        raise noted_failure(error) from error


def ask_each(
    step: Callable[[Redis, Sequence[int]], dict[int, Result]], *, item_ids: Sequence[int]
) -> dict[int, Result]:
    """Call `step` with each server and the items that it has: the answers, by item.

    Items of a server that does not answer are missing. Raises StoreUnreachable if none answers.
    """
    servers = reservation_servers()
    if not isinstance(servers, ClusterNodes):
        return ask_member(lambda client: step(client, item_ids), client=servers)
    found: dict[int, Result] = {}
    failure: StoreUnreachable | None = None
    answered = False
    for item_ids_of_one in _groups(item_ids):
        try:
            found |= ask(
                lambda client, ids=item_ids_of_one: step(client, ids),  # type: ignore[misc]
                item_id=item_ids_of_one[0],
            )
            answered = True
        except StoreUnreachable as error:
            failure = error
    if failure and not answered:
        raise failure
    return found


def ask_for_each(queue: Callable[[Any, int], object], *, item_ids: Sequence[int]) -> dict[int, Any]:
    """The answer to one command for each item, which `queue` adds to a pipeline. Otherwise as `ask_each`."""

    def read(client: Redis, item_ids: Sequence[int]) -> dict[int, Any]:
        pipeline = client.pipeline(transaction=False)
        for item_id in item_ids:
            queue(pipeline, item_id)
        return dict(zip(item_ids, pipeline.execute(), strict=True))

    return ask_each(read, item_ids=item_ids)


def note_moved(error: MovedError) -> None:
    """A pipeline over several items has met one that another node has: the next call asks there."""
    servers = reservation_servers()
    if isinstance(servers, ClusterNodes):
        servers.moved(error)


def server_of(item_id: int) -> object:
    """Which server has the item, to compare with that of another item; None if that is not known now.

    It never waits, since event loops ask.
    """
    servers = reservation_servers()
    client = servers.known_client_of(item_id) if isinstance(servers, ClusterNodes) else servers
    return client.connection_pool if client else None


def wait_for_servers() -> None:
    """Give a process that has just started the time to learn the servers of a Cluster, before it asks `server_of`."""
    servers = reservation_servers()
    if isinstance(servers, ClusterNodes):
        servers.wait_for_map()


@dataclass(frozen=True, slots=True)
class Member:
    """One server of the store with a client of its own, for checking its settings.

    `name` is host:port; `primary` for a primary that the address names, empty if it is the only server.
    """

    name: str
    primary: bool
    client: Redis


def all_members() -> list[Member]:
    """Every server of the store, replicas too. Raises StoreUnreachable."""
    servers = reservation_servers()
    if not isinstance(servers, ClusterNodes):
        return _members_of(servers, ask_member(lambda client: client.info("replication"), client=servers))
    try:
        nodes = servers.all_nodes()
    except RedisError as error:
        raise noted_failure(error) from error
    return [Member(node.name, node.server_type == PRIMARY, client) for node, client in nodes]


def _members_of(primary: Redis, replication: dict[str, Any]) -> list[Member]:
    """The primary and its replicas, by its INFO replication."""
    found = online_replicas(replication)
    replicas = [Member(f"{host}:{port}", False, _replica_client(primary, host, port)) for host, port in found]
    return [Member("primary" if replicas else "", True, primary), *replicas]


def online_replicas(replication: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Where the replicas of a primary are that are online."""
    for name, value in replication.items():
        if name.startswith("slave") and name[5:].isdigit() and value.get("state") == "online":
            yield str(value["ip"]), int(value["port"])


def is_behind_sentinels() -> bool:
    return isinstance(getattr(reservation_servers(), "connection_pool", None), SentinelConnectionPool)


def sentinel_settings() -> Iterator[dict[str, Any]]:
    """What each sentinel that answers says of the primary. Nothing where there are none."""
    if is_behind_sentinels():
        pool = cast(SentinelConnectionPool, cast(Redis, reservation_servers()).connection_pool)
        for sentinel in pool.sentinel_manager.sentinels:
            with suppress(RedisError):
                yield sentinel.sentinel_master(pool.service_name)


def _replica_client(primary: Redis, host: str, port: int) -> Redis:
    given = primary.connection_pool.connection_kwargs
    same = {name: given[name] for name in SAME if name in given}
    secured = "ssl" in primary.connection_pool.connection_class.__name__.lower()
    return Redis(host=host, port=port, ssl=secured, **same)


def ask_member(step: Callable[[Redis], Result], *, client: Redis) -> Result:
    """Call `step` with the client of one server, for questions about the server itself. Raises StoreUnreachable."""
    try:
        return _call(step, client=client)
    except MovedError as error:
        raise noted_failure(error) from error


def answers_of(pipeline: Any) -> list[Any]:
    """The answers of a pipeline, with its errors. MovedError is raised: another node has the key."""
    answers: list[Any] = pipeline.execute(raise_on_error=False)
    for answer in answers:
        if isinstance(answer, MovedError):
            raise answer
    return answers


def reservation_servers() -> Redis | ClusterNodes:
    """The client of the store that the settings name, one for all threads and requests of the process.

    Django makes one for each context, and in the event loop each request has its own: that took longer than the
    reservation.
    """
    chosen = caches.settings["seckill"]
    found = _found.get("seckill")
    if found is None or found[0] is not chosen:
        found = _found["seckill"] = chosen, get_redis_connection("seckill")
    return cast(Redis | ClusterNodes, found[1])


def _node_of(item_id: int, *, nodes: ClusterNodes) -> Redis:
    try:
        return nodes.client_of(item_id)
    except RedisError as error:
        raise noted_failure(error) from error


def _groups(item_ids: Sequence[int]) -> list[list[int]]:
    """The items by the node that has them; the items of unknown nodes in one group."""
    wait_for_servers()
    groups: dict[object, list[int]] = {}
    for item_id in item_ids:
        groups.setdefault(server_of(item_id), []).append(item_id)
    return list(groups.values())


def _call(step: Callable[[Redis], Result], *, client: Redis) -> Result:
    """Raises StoreUnreachable, and MovedError."""
    breaker = breaker_of(client)
    if not breaker.may_call():
        raise StoreUnreachable("the store did not answer in time a moment ago", cause=Cause.TIMEOUT)
    try:
        answer = step(client)
    except MovedError:
        breaker.answered()
        raise
    except RedisError as error:
        raise failure_of(error, client=client) from error
    breaker.answered()
    return answer


def failure_of(error: RedisError, *, client: Redis) -> StoreUnreachable:
    """The error to raise for a call that failed, after what must be done about its server."""
    if cause_of(error) is Cause.TIMEOUT:
        breaker_of(client).timed_out()
    else:
        breaker_of(client).answered()
    leave_former_primary(error, client=client)
    return noted_failure(error)


def leave_former_primary(error: RedisError, *, client: Redis) -> bool:
    """Whether the server may not be the primary any more, after closing the connections to it.

    It was demoted, or is cut off from its replicas, and its connections live on. New ones find the present primary.
    """
    is_replica = isinstance(error, ReadOnlyError | MasterDownError)
    if not is_replica and not (cause_of(error) is Cause.REPLICAS and _is_due(client)):
        return False
    client.connection_pool.disconnect(inuse_connections=False)
    return True


def _is_due(client: Redis) -> bool:
    """Once in RECONNECT_SECONDS for each server: it may lack replicas for long, and be the primary all the time."""
    now_s = time.monotonic()
    if now_s < _reconnected_s.get(client.connection_pool, 0.0) + RECONNECT_SECONDS:
        return False
    _reconnected_s[client.connection_pool] = now_s
    return True


def noted_failure(error: RedisError) -> StoreUnreachable:
    """The error to raise, after noting it for the log and the metrics."""
    cause = cause_of(error)
    # The sentinels' error has all their clients after a colon, with every option of each.
    message = str(error).partition(" : ")[0] if isinstance(error, MasterNotFoundError) else str(error)
    report_failure(cause, message)
    return StoreUnreachable(message, cause=cause)


def cause_of(error: RedisError) -> Cause:
    """The cause in one word. The order matters: several of these are subclasses of ConnectionError."""
    if isinstance(error, TimeoutError):
        return Cause.TIMEOUT
    if isinstance(error, AuthenticationError | NoPermissionError):
        return Cause.PASSWORD
    if isinstance(error, BusyLoadingError):
        return Cause.LOADING
    if isinstance(error, ConnectionError | ClusterDownError):
        return Cause.UNREACHABLE
    if isinstance(error, AskError | TryAgainError):
        return Cause.MOVING
    if isinstance(error, OutOfMemoryError):
        return Cause.FULL
    if isinstance(error, ReadOnlyError):
        return Cause.READONLY
    # UNBLOCKED: the server was demoted while it waited for replicas.
    if isinstance(error, TooFewReplicas) or any(word in str(error) for word in ("NOREPLICAS", "UNBLOCKED")):
        return Cause.REPLICAS
    return Cause.SCRIPT_ERROR
