"""A Valkey Cluster of three primaries, from the wheel of the embedded servers, for the length of a `with`."""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from shop.local.ports import PORT_ATTEMPTS, free_ports
from shop.local.process import POLL_SECONDS, PortTaken, Process, start_processes, stop_processes
from shop.local.valkey import STORE_FSYNC, ValkeyServer

# The smallest cluster: with fewer primaries no majority would remain after a failure.
NODES = 3
SLOTS = 16384

# Nodes gossip once a second; three of them agree within a few.
FORM_SECONDS_MAX = 30.0


class ClusterFailed(Exception):
    """The nodes did not become one cluster in time."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where the nodes are."""

    ports: tuple[int, ...]
    bus_ports: tuple[int, ...]
    password: str

    @property
    def url(self) -> str:
        """The address of one node, which knows the others."""
        return f"redis://:{self.password}@127.0.0.1:{self.ports[0]}/0"

    def node(self, number: int) -> Any:
        """A plain client of one node."""
        return Redis(port=self.ports[number], password=self.password, socket_timeout=5, socket_connect_timeout=5)

    def form(self) -> None:
        """Connect the nodes to each other and assign the slots. Raises ClusterFailed."""
        nodes = [self.node(number) for number in range(NODES)]
        try:
            for number, node in enumerate(nodes):
                first, end = SLOTS * number // NODES, SLOTS * (number + 1) // NODES
                node.execute_command("CLUSTER ADDSLOTSRANGE", first, end - 1)
                # Else all three start with epoch 0, and take seconds to agree on which of them changes it.
                node.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
            for port, bus_port in zip(self.ports[1:], self.bus_ports[1:], strict=True):
                nodes[0].execute_command("CLUSTER MEET", "127.0.0.1", port, bus_port)
            deadline = time.monotonic() + FORM_SECONDS_MAX
            while not all(_is_whole(node) for node in nodes):
                if time.monotonic() > deadline:
                    raise ClusterFailed(f"no cluster_state:ok on all nodes within {FORM_SECONDS_MAX:.0f} s")
                time.sleep(POLL_SECONDS)
        finally:
            for node in nodes:
                node.close()


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Three servers for the length of a `with`, in a temporary directory.

    They are stopped on any error, and by the kernel if this process is killed. Call it in the main thread.
    Raises ClusterFailed, and ProcessFailed when a server ends or does not answer.
    """
    with TemporaryDirectory(prefix="stampede-cluster-") as directory:
        lock_fd = os.open(Path(directory) / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        parts: list[Process] = []
        try:
            for attempts_left in reversed(range(PORT_ATTEMPTS)):
                cluster, parts = _prepare(directory=Path(directory), lock_fd=lock_fd)
                try:
                    start_processes(processes=parts)
                    break
                except PortTaken:
                    stop_processes(processes=parts)
                    if not attempts_left:
                        raise
            cluster.form()
            yield cluster
        finally:
            stop_processes(processes=parts)
            os.close(lock_fd)


def _prepare(*, directory: Path, lock_fd: int) -> tuple[Cluster, list[Process]]:
    # The bus gets ports of its own: by default it is 10000 above the port, in the range of outgoing connections.
    ports = free_ports(count=2 * NODES)
    cluster = Cluster(ports=tuple(ports[:NODES]), bus_ports=tuple(ports[NODES:]), password=secrets.token_hex(16))
    parts = []
    for number, (port, bus_port) in enumerate(zip(cluster.ports, cluster.bus_ports, strict=True)):
        server = ValkeyServer(
            name=f"node-{number}",
            title=f"Valkey, node {number} of the cluster",
            directory=directory / f"{port}",
            fsync=STORE_FSYNC,
            port=port,
            password=cluster.password,
            more=f"cluster-enabled yes\ncluster-port {bus_port}\n",
        )
        parts.append(server.process(log_path=directory / f"{port}.log", lock_fd=lock_fd))
    return cluster, parts


def _is_whole(node: Any) -> bool:
    with suppress(RedisError):
        answer = node.execute_command("CLUSTER INFO")
        return bool(answer["cluster_state"] == "ok" and int(answer["cluster_known_nodes"]) == NODES)
    return False
