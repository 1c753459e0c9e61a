"""The reservation stores of `STORE=sentinel make run` and `STORE=cluster make run`, with real servers."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from shop.configuration.redis_address import StoreKind, read_address
from shop.local.ports import free_ports
from shop.local.postgres import DataUnusable
from shop.local.process import POLL_SECONDS
from shop.local.servers import EmbeddedServers
from shop.local.stores import replicated_store
from shop.local.stores import sentinel_store as sentinel_stores
from shop.local.stores.cluster_store import ClusterStore
from shop.local.stores.replicated_store import ReplicatedStore
from shop.local.stores.sentinel_store import SentinelStore
from shop.local.stores.store_node import StoreNode
from shop.local.supervisor import StopRequested, Supervisor
from tests.processes import living, wait_until

KEY = "seckill:{42}:item"
# Promised for items of a primary that was killed.
FAILOVER_SECONDS_MAX = 15


@pytest.fixture(scope="module", params=["sentinel_store", "cluster_store"])
def shared_store(request: pytest.FixtureRequest) -> ReplicatedStore:
    """For tests that kill nothing."""
    found: ReplicatedStore = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def store(shared_store: ReplicatedStore) -> Iterator[ReplicatedStore]:
    """For tests that kill servers of it. What has ended runs again."""
    yield shared_store
    if not all(process.running for process in shared_store.processes):
        shared_store.stop()
        shared_store.start()


def write(store: ReplicatedStore, value: str) -> None:
    with store.primary(key=KEY).client() as client:
        client.set(KEY, value)


def read(store: ReplicatedStore) -> Any:
    return store.primary(key=KEY).ask("GET", KEY)


@pytest.mark.slow
def test_each_node_syncs_before_it_answers_evicts_nothing_and_wants_a_password(shared_store: ReplicatedStore) -> None:
    wanted = {
        "appendonly": "yes",
        "appendfsync": "always",
        "no-appendfsync-on-rewrite": "no",
        "maxmemory-policy": "noeviction",
        "save": "",
    }
    for node in shared_store.nodes:
        assert {name: node.ask("CONFIG GET", name)[name] for name in wanted} == wanted, node.name
    for node in (*shared_store.nodes, *shared_store.watchers):
        # Without repetitions, of which redis-py makes ten.
        stranger = redis.Redis(port=node.port, retry=Retry(NoBackoff(), 0))
        with stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()


def test_each_primary_has_a_replica_with_its_data(shared_store: ReplicatedStore) -> None:
    primaries = [node for node in shared_store.nodes if node.is_primary]
    replicas = [shared_store.replica_of(primary) for primary in primaries]

    assert sorted(node.name for node in (*primaries, *replicas)) == [node.name for node in shared_store.nodes]
    with shared_store.primary(key=KEY).client() as client:
        client.set(KEY, "on both")
        assert client.wait(1, 5_000) == 1
    with shared_store.replica_of(shared_store.primary(key=KEY)).client() as client:
        if isinstance(shared_store, ClusterStore):
            client.readonly()
        assert client.get(KEY) == b"on both"


def test_the_address_names_the_kind_and_all_who_can_be_asked(
    sentinel_store: SentinelStore, cluster_store: ClusterStore
) -> None:
    sentinels, nodes = read_address(sentinel_store.url), read_address(cluster_store.url)

    assert (sentinels.kind, sentinels.name) == (StoreKind.SENTINEL, "stampede")
    assert [port for _host, port in sentinels.hosts] == [node.port for node in sentinel_store.watchers]
    assert sentinels.sentinel_password == sentinel_store.watchers[0].password
    assert nodes.kind is StoreKind.CLUSTER
    assert [port for _host, port in nodes.hosts] == [node.port for node in cluster_store.nodes]
    assert {sentinels.password, nodes.password} == {"of-a-test"}


def test_items_are_spread_over_the_primaries_of_a_cluster(cluster_store: ClusterStore) -> None:
    found = {cluster_store.primary(key=f"seckill:{{{number}}}:item").name for number in range(1, 13)}
    assert found == {node.name for node in cluster_store.primaries()}
    assert len(found) == 3


def test_a_sentinel_that_changes_its_mind_while_it_is_asked_has_no_opinion(
    sentinel_store: SentinelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would name the former primary with the epoch of the new one, and the former would start as a primary."""
    primary = sentinel_store.primary()
    former, watched = sentinel_store.replica_of(primary), sentinel_store.watchers[0]
    # Higher than that of the others.
    ask, epochs = StoreNode.ask, iter([7, 8])

    def ask_while_it_changes(node: StoreNode, *command: str) -> Any:
        answer = ask(node, *command)
        if node is watched and command[0] == "SENTINEL MASTER":
            return {**answer, "config-epoch": next(epochs)}
        if node is watched:
            return answer[0], former.port
        return answer

    monkeypatch.setattr(StoreNode, "ask", ask_while_it_changes)
    assert sentinel_store.primary() is primary
    assert next(epochs, None) is None


@pytest.mark.slow
def test_a_killed_primary_comes_back_as_a_replica_and_a_restart_keeps_the_newer_data(store: ReplicatedStore) -> None:
    # Given a store whose primary is killed,
    write(store, "old")
    former = store.primary(key=KEY)
    replica = store.replica_of(former)
    store.kill(former)
    # its replica takes over,
    wait_until(lambda: store.has_replaced(former, key=KEY), seconds_max=FAILOVER_SECONDS_MAX)
    assert store.primary(key=KEY) is replica
    write(store, "newer")
    # and the former primary follows it when it is back.
    store.restart(former)
    store.await_settled()
    assert store.replica_of(replica) is former
    assert not former.is_primary

    # When it misses a later write, and everything is started again after kill -9 of all,
    store.kill(former)
    write(store, "newest")
    for node in (*store.nodes, *store.watchers):
        store.kill(node)
    store.stop()
    store.start()

    # then the newest data is there, and the former primary has it too.
    assert read(store) == b"newest"
    assert store.primary(key=KEY).name == replica.name
    assert store.replica_of(store.primary(key=KEY)).name == former.name


def test_a_primary_that_nobody_replaced_is_the_primary_of_the_next_start_after_a_stop_that_leaves_nothing_running(
    sentinel_store: SentinelStore,
) -> None:
    store = sentinel_store
    write(store, "kept")
    pids = {process.pid for process in store.processes if process.pid}
    assert living(pids=pids) == pids
    assert len(pids) == 5
    former = store.primary()
    store.kill(former)
    store.stop()
    assert not living(pids=pids)

    store.start()

    assert store.primary().name == former.name
    assert read(store) == b"kept"


def test_a_start_that_ended_while_it_wrote_configurations_does_not_forget_the_primary(server_directory: Path) -> None:
    """The nodes have their new ports already, and the sentinels' files name former ones."""
    store = SentinelStore(directory=server_directory, password="of-a-test")
    store.prepare(lock_fd=0)
    for number in (1, 2, 3):
        path = server_directory / f"sentinel-{number}" / "valkey.conf"
        path.write_text(path.read_text().replace(f"127.0.0.1 {store.nodes[0].port} 2", "127.0.0.1 1 2"))
    (server_directory / "primary").write_text("store-2")

    store.prepare(lock_fd=0)

    replica = (server_directory / "store-1" / "valkey.conf").read_text()
    assert f"replicaof 127.0.0.1 {store.nodes[1].port}\n" in replica
    assert "replicaof" not in (server_directory / "store-2" / "valkey.conf").read_text()


def test_the_sentinel_with_the_newest_opinion_decides_who_is_the_primary(server_directory: Path) -> None:
    store = SentinelStore(directory=server_directory, password="of-a-test")
    store.prepare(lock_fd=0)
    primary, replica = store.nodes
    path = server_directory / "sentinel-2" / "valkey.conf"
    switched = path.read_text().replace(f"127.0.0.1 {primary.port} 2", f"127.0.0.1 {replica.port} 2")
    path.write_text(f"{switched}sentinel config-epoch stampede 1\n")

    store.prepare(lock_fd=0)

    assert (server_directory / "primary").read_text() == "store-2"


@pytest.mark.slow
def test_a_port_taken_at_the_last_moment_is_replaced(server_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SentinelStore(directory=server_directory, password="of-a-test")
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken: int = stranger.getsockname()[1]
        choices = iter([[taken, *free_ports(count=4)], free_ports(count=5)])
        monkeypatch.setattr(sentinel_stores, "free_ports", lambda *, count: next(choices))
        store.start()
    try:
        assert taken not in [node.port for node in store.nodes]
        write(store, "there")
    finally:
        store.stop()


def test_make_run_starts_a_killed_primary_again_as_a_replica(
    server_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicated_store, "COMEBACK_SECONDS", 0.5)
    reported: list[str] = []
    supervisor = Supervisor(report=reported.append)
    servers = EmbeddedServers(server_directory, store=StoreKind.SENTINEL)
    servers.prepare()
    assert servers.replicated
    store = servers.replicated
    try:
        supervisor.start(processes=servers.processes)
        servers.settle(pause=supervisor.pause)
        supervisor.start(processes=servers.watchers)
        assert servers.environment()["SECKILL_REDIS_URL"] == store.url
        victim = store.primary()

        def stop_when_it_is_back() -> None:
            if f"[green]✓[/] {victim.name} answers again" in reported and store.is_settled():
                raise StopRequested
            time.sleep(POLL_SECONDS)

        monkeypatch.setattr(supervisor, "pause", stop_when_it_is_back)
        reported.clear()
        store.kill(victim)
        with pytest.raises(StopRequested):
            supervisor.watch()
        assert not victim.is_primary
        assert reported[0].startswith(f"[yellow]{victim.name} ended by SIGKILL. The others go on;")
    finally:
        supervisor.stop()
        servers.close()


def test_data_of_a_cluster_without_a_file_of_its_nodes_is_not_touched(cluster_store: ClusterStore) -> None:
    """The last test of the cluster, which does not start again."""
    cluster_store.stop()
    damaged = cluster_store.directory / "store-5" / "nodes.conf"
    damaged.write_text("")

    with pytest.raises(DataUnusable, match="store-5/nodes.conf is missing or damaged"):
        cluster_store.start()
    assert damaged.read_text() == ""
