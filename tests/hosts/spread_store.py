"""A store behind Sentinel with servers on hosts of a private network; the others are where the test is."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shop.local.stores.sentinel_store import PRIMARY_NAME, SentinelStore
from shop.local.stores.store_node import HOST, StoreNode
from tests.hosts.private_network import PrivateNetwork


class SpreadStore(SentinelStore):
    """`places` has the host of a server by the name of the server. The primary is `store-1`."""

    def __init__(self, *, network: PrivateNetwork, places: Mapping[str, str], **options: Any) -> None:
        super().__init__(**options)
        self._network = network
        self._places = places

    @property
    def url(self) -> str:
        hosts = ",".join(f"{sentinel.host}:{sentinel.port}" for sentinel in self.watchers)
        return f"redis+sentinel://:{self.password}@{hosts}/{PRIMARY_NAME}/0?sentinel_password={self.sentinel_password}"

    def prepare(self, *, lock_fd: int) -> None:
        super().prepare(lock_fd=lock_fd)
        self.nodes = [self._placed(node) for node in self.nodes]
        self.watchers = [self._placed(node) for node in self.watchers]
        addresses = {node.port: self._address(node) for node in (*self.nodes, *self.watchers)}
        for node in (*self.nodes, *self.watchers):
            path = self.directory / node.name / "valkey.conf"
            text = re.sub(rf"{HOST} (\d+)", lambda found: f"{addresses[int(found[1])]} {found[1]}", path.read_text())
            path.write_text(text.replace(f"bind {HOST}\n", f"bind {HOST} {addresses[node.port]}\n"))

    def _placed(self, node: StoreNode) -> StoreNode:
        """The server, with a process that runs on its host."""
        if node.name not in self._places:
            return node
        placed = replace(node, host=self._address(node))
        placed.process.argv = self._network.at(self._places[node.name], placed.process.argv)
        placed.process.ready = lambda _: bool(placed.ask("PING"))
        return placed

    def _address(self, node: StoreNode) -> str:
        place = self._places.get(node.name)
        return self._network.addresses[place] if place else self._network.address
