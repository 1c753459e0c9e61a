"""A primary with a replica as reservation store, watched by three sentinels.

    <directory>/store-1  store-2         data
    <directory>/sentinel-1 … sentinel-3  files of the sentinels
    <directory>/primary                  the name of the node that was the primary when all were started last

Ports are chosen anew at each start, and so all configurations are written anew. After a failover the former replica
has the newer data, and it is the primary at the next start: the sentinels' files of the last run say who it was.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import replace

from shop.local.ports import free_ports
from shop.local.private_file import write_private
from shop.local.process import Comeback
from shop.local.stores.replicated_store import COMEBACK_SECONDS, ReplicatedStore
from shop.local.stores.store_node import HOST, StoreNode
from shop.local.valkey import SentinelServer, ValkeyServer

# The sentinels' name of the primary, for every server that becomes it.
PRIMARY_NAME = "stampede"

_SENTINELS = 3
_QUORUM = 2

# Sentinels that did not agree on who acts try again after twice this time.
_FAILOVER_TIMEOUT_MS = 3_000

_SENTINEL_LINES = """\
sentinel myid {own_id}
sentinel monitor {name} {host} {primary_port} {quorum}
sentinel auth-pass {name} {password}
sentinel down-after-milliseconds {name} {down_after_ms}
sentinel failover-timeout {name} {failover_timeout_ms}
sentinel sentinel-pass {sentinel_password}
"""


class SentinelStore(ReplicatedStore):
    """Clients ask the sentinels where the primary is."""

    title = "a primary with a replica, watched by three sentinels"
    node_count = 2
    # A primary that is silent for so long is replaced.
    down_after_ms = 2_000

    @property
    def url(self) -> str:
        hosts = ",".join(f"{HOST}:{sentinel.port}" for sentinel in self.watchers)
        query = f"sentinel_password={self.sentinel_password}"
        return f"redis+sentinel://:{self.password}@{hosts}/{PRIMARY_NAME}/0?{query}"

    @property
    def sentinel_password(self) -> str:
        """Not that of the stores, so that a mix-up is noticed."""
        return f"sentinel-{self.password}"

    def prepare(self, *, lock_fd: int) -> None:
        primary_name = self._last_primary()
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Before the first of the files that say so is written anew.
        write_private(path=self.directory / "primary", text=primary_name)
        ports = free_ports(count=self.node_count + _SENTINELS)
        self._servers = {
            name: self._server(name, title=f"Valkey, reservation store {number}", port=ports[number - 1])
            for number, name in enumerate(self._node_names(), start=1)
        }
        primary = self._servers[primary_name]
        self.nodes = [
            self._node(self._following(server, primary), lock_fd=lock_fd) for server in self._servers.values()
        ]
        self.watchers = self._sentinels(ports[self.node_count :], primary=primary, lock_fd=lock_fd)

    def is_settled(self) -> bool:
        return all(node.is_in_sync() for node in self.nodes)

    def primary(self, *, key: str = "") -> StoreNode:
        opinions = [_opinion(sentinel) for sentinel in self.watchers]
        named = max((opinion for opinion in opinions if opinion), default=None)
        for node in self.nodes:
            if named and node.port == named[1]:
                return node
        raise LookupError("no sentinel says who is the primary")

    def prepare_restart(self, node: StoreNode) -> bool:
        """A former primary must not start as one: it would confirm writes that the sentinels then discard."""
        if node in self.watchers:
            return True
        try:
            primary = self.primary()
        except LookupError:
            primary = next((other for other in self.nodes if other is not node and other.is_primary), node)
        self._following(self._servers[node.name], self._servers[primary.name]).write_configuration()
        return primary is not node

    def _following(self, server: ValkeyServer, primary: ValkeyServer) -> ValkeyServer:
        """The server as a replica of the primary; itself where it is the primary."""
        if server.name == primary.name:
            return server
        return replace(server, more=f"{server.more}replicaof {HOST} {primary.port}\n")

    def _sentinels(self, ports: list[int], *, primary: ValkeyServer, lock_fd: int) -> list[StoreNode]:
        """They know each other and the replicas from the start; else they would need seconds to find them."""
        ids = {port: secrets.token_hex(20) for port in ports}
        sentinels = []
        for number, port in enumerate(ports, start=1):
            lines = _SENTINEL_LINES.format(
                own_id=ids[port],
                name=PRIMARY_NAME,
                host=HOST,
                primary_port=primary.port,
                quorum=_QUORUM,
                password=self.password,
                down_after_ms=self.down_after_ms,
                failover_timeout_ms=_FAILOVER_TIMEOUT_MS,
                sentinel_password=self.sentinel_password,
            )
            lines += "".join(
                f"sentinel known-replica {PRIMARY_NAME} {HOST} {server.port}\n"
                for server in self._servers.values()
                if server is not primary
            )
            lines += "".join(
                f"sentinel known-sentinel {PRIMARY_NAME} {HOST} {other} {other_id}\n"
                for other, other_id in ids.items()
                if other != port
            )
            sentinels.append(self._sentinel(number, port=port, lines=lines, lock_fd=lock_fd))
        return sentinels

    def _sentinel(self, number: int, *, port: int, lines: str, lock_fd: int) -> StoreNode:
        name = f"sentinel-{number}"
        server = SentinelServer(
            name=name,
            title=f"Valkey, sentinel {number} of {_SENTINELS}",
            directory=self.directory / name,
            port=port,
            password=self.sentinel_password,
            more=lines,
        )
        process = server.process(log_path=self._log_directory / f"{name}.log", lock_fd=lock_fd)
        process.comeback = Comeback(after_seconds=COMEBACK_SECONDS, seconds_max=COMEBACK_SECONDS)
        return StoreNode(name=name, port=port, password=self.sentinel_password, process=process)

    def _node_names(self) -> list[str]:
        return [f"store-{number}" for number in range(1, self.node_count + 1)]

    def _last_primary(self) -> str:
        """The node with the newest data, by the files of the last run."""
        names_by_port = {_number("port", self._configuration(name)): name for name in self._node_names()}
        opinions = []
        for number in range(1, _SENTINELS + 1):
            text = self._configuration(f"sentinel-{number}")
            port = _number(rf"sentinel monitor {PRIMARY_NAME} \S+", text)
            opinions.append((_number(f"sentinel config-epoch {PRIMARY_NAME}", text), port))
        for _epoch, port in sorted(opinions, reverse=True):
            if port and port in names_by_port:
                return names_by_port[port]
        # No sentinel has ever run, or the last start ended while it wrote the files.
        noted = self.directory / "primary"
        return noted.read_text() if noted.exists() else self._node_names()[0]

    def _configuration(self, name: str) -> str:
        path = self.directory / name / "valkey.conf"
        return path.read_text() if path.exists() else ""


def _number(words: str, text: str) -> int:
    """The number after these words in a configuration; 0 if they are not there."""
    found = re.search(rf"^{words} (\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def _opinion(sentinel: StoreNode) -> tuple[int, int] | None:
    """Epoch and port of the primary as this sentinel sees it; None in the moment in which it changes its mind."""
    epoch = _config_epoch(sentinel)
    address = sentinel.ask("SENTINEL GET-MASTER-ADDR-BY-NAME", PRIMARY_NAME)
    # The former primary must not appear with the epoch of the new one.
    if not address or epoch is None or epoch != _config_epoch(sentinel):
        return None
    return epoch, int(address[1])


def _config_epoch(sentinel: StoreNode) -> int | None:
    state: Mapping[str, object] = sentinel.ask("SENTINEL MASTER", PRIMARY_NAME) or {}
    return int(str(state["config-epoch"])) if "config-epoch" in state else None
