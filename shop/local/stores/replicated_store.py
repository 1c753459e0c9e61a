"""A reservation store of several servers on this machine, each primary with a replica.

For `make run`: `prepare()`, start `nodes` with a supervisor, `settle()`, start `watchers`. For tests and the fault
harness: `start()`, then `kill()` and `restart()` of nodes, and `stop()`.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, ClassVar

from shop.local.directory_lock import lock_directory, lock_servers
from shop.local.process import (
    POLL_SECONDS,
    Comeback,
    Process,
    ProcessFailed,
    start_on_free_ports,
    start_processes,
    stop_processes,
)
from shop.local.stores.store_node import StoreNode
from shop.local.valkey import STORE_FSYNC, ValkeyServer

# A killed server stays away long enough for its replica to take over, which is the point of killing it. With
# SECKILL_YES_REPLICAS nothing is sold until it is back.
COMEBACK_SECONDS = 6.0
# Then it starts although no replica took over: none was able to.
_COMEBACK_SECONDS_MAX = 15.0

_SETTLE_SECONDS_MAX = 60.0

# As durable as a single store (shop/local/valkey.py), on replicas too.
_LINES = """\
masterauth {password}
min-replicas-to-write {replicas_min}
# A new identity of the data makes the shop compare every item, so it is kept while no replica is connected.
repl-backlog-ttl 0
# Others may want to follow too, and would have been waited for.
repl-diskless-sync-delay 0
# A frozen replica would hold up the end for ten seconds.
shutdown-timeout 2
"""


class ReplicatedStore(ABC):
    """`nodes` hold data; `watchers` decide who is a primary, where the nodes do not do so themselves."""

    # For the person at the terminal.
    title: ClassVar[str]

    def __init__(
        self, *, directory: Path, password: str, replicas_min: int = 0, log_directory: Path | None = None
    ) -> None:
        """`replicas_min` is how many replicas a primary must see to accept writes."""
        self.directory = directory.resolve()
        self.password = password
        self.nodes: Sequence[StoreNode] = ()
        self.watchers: Sequence[StoreNode] = ()
        self._log_directory = log_directory or self.directory / "logs"
        self._lines = _LINES.format(password=password, replicas_min=replicas_min)
        self._locks: list[IO[str]] = []

    @property
    @abstractmethod
    def url(self) -> str:
        """The address for SECKILL_REDIS_URL."""

    @abstractmethod
    def prepare(self, *, lock_fd: int) -> None:
        """Choose ports and write configurations. Nothing runs yet. Raises WheelMissing and DataUnusable."""

    @abstractmethod
    def is_settled(self) -> bool:
        """Whether the nodes agree on who is a primary, and each replica has all data."""

    @abstractmethod
    def primary(self, *, key: str = "") -> StoreNode:
        """The node that has the key, by the newest opinion. Raises LookupError if no node knows."""

    def replica_of(self, primary: StoreNode) -> StoreNode:
        """Raises LookupError if it has none."""
        for node in self.nodes:
            if node is not primary and node.follows(primary):
                return node
        raise LookupError(f"{primary.name} has no replica")

    def has_replaced(self, former: StoreNode, *, key: str = "") -> bool:
        """Whether another node has taken over the key from this one, and says so itself."""
        try:
            primary = self.primary(key=key)
        except LookupError:
            return False
        return primary is not former and primary.is_primary

    def prepare_restart(self, node: StoreNode) -> bool:
        """Called before a node that has died is started again. False if it should still wait."""
        return True

    def settle(self, *, pause: Callable[[], None]) -> None:
        """Return when the store can be used; `pause` is called between two looks. Raises ProcessFailed."""
        deadline = time.monotonic() + _SETTLE_SECONDS_MAX
        while not self.is_settled():
            for node in self.nodes:
                node.process.answers()  # raises if it has ended
            if time.monotonic() > deadline:
                raise ProcessFailed(
                    f"The servers of the reservation store did not come together within {_SETTLE_SECONDS_MAX:.0f} s. "
                    f"Their logs: {self._log_directory}"
                )
            pause()

    def await_settled(self) -> None:
        """The same, for callers without a supervisor."""
        self.settle(pause=lambda: time.sleep(POLL_SECONDS))

    def start(self) -> None:
        """Start everything and return when it can be used. Raises DirectoryInUse and ProcessFailed."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._locks.append(lock_directory(directory=self.directory))
        try:
            servers_lock = lock_servers(directory=self.directory)
            self._locks.append(servers_lock)
            start_on_free_ports(
                prepare=lambda: self.prepare(lock_fd=servers_lock.fileno()),
                start=self._start_prepared,
                stop=lambda: stop_processes(processes=self.processes),
            )
        except BaseException:
            self.stop()
            raise

    def _start_prepared(self) -> None:
        start_processes(processes=[node.process for node in self.nodes])
        self.await_settled()
        start_processes(processes=[node.process for node in self.watchers])

    def stop(self) -> None:
        """Stop everything and wait until it has ended. May be called twice."""
        stop_processes(processes=self.processes)
        while self._locks:
            self._locks.pop().close()

    def kill(self, node: StoreNode) -> None:
        """kill -9. It stays down until `restart`."""
        node.process.kill()

    def restart(self, node: StoreNode) -> None:
        """Start a killed node again and return when it answers. It is a replica if another one has taken over."""
        self.prepare_restart(node)
        start_processes(processes=[node.process])

    @property
    def processes(self) -> list[Process]:
        return [node.process for node in (*self.nodes, *self.watchers)]

    def _server(self, name: str, *, title: str, port: int, more: str = "") -> ValkeyServer:
        return ValkeyServer(
            name=name,
            title=title,
            directory=self.directory / name,
            fsync=STORE_FSYNC,
            port=port,
            password=self.password,
            more=self._lines + more,
        )

    def _node(self, server: ValkeyServer, *, lock_fd: int) -> StoreNode:
        """A node for this server, whose configuration is written."""
        process = server.process(log_path=self._log_directory / f"{server.name}.log", lock_fd=lock_fd)
        node = StoreNode(name=server.name, port=server.port, password=server.password, process=process)
        process.comeback = Comeback(
            after_seconds=COMEBACK_SECONDS,
            seconds_max=_COMEBACK_SECONDS_MAX,
            may_start=lambda: self.prepare_restart(node),
        )
        return node
