"""A store behind Sentinel whose primary is on a host of a private network; all else of it is where the test is."""

import re
from dataclasses import replace
from typing import Any

from shop.local.stores.sentinel_store import SentinelStore
from shop.local.stores.store_node import HOST
from tests.hosts.private_network import PrivateNetwork


class SpreadStore(SentinelStore):
    """The first node is the primary, and it is on the host `far`."""

    def __init__(self, *, network: PrivateNetwork, far: str, **options: Any) -> None:
        super().__init__(**options)
        self._network = network
        self._far = far

    def prepare(self, *, lock_fd: int) -> None:
        super().prepare(lock_fd=lock_fd)
        near, far = self._network.address, self._network.addresses[self._far]
        primary, *others = self.nodes
        primary = replace(primary, host=far)
        primary.process.argv = self._network.at(self._far, primary.process.argv)
        primary.process.ready = lambda _: bool(primary.ask("PING"))
        self.nodes = [primary, *others]
        addresses = {node.port: far if node is primary else near for node in self.nodes}

        def address_and_port(found: re.Match[str]) -> str:
            return f"{addresses.get(int(found[1]), near)} {found[1]}"

        for node in (*self.nodes, *self.watchers):
            path = self.directory / node.name / "valkey.conf"
            text = re.sub(rf"{HOST} (\d+)", address_and_port, path.read_text())
            path.write_text(text.replace(f"bind {HOST}\n", f"bind {HOST} {addresses.get(node.port, near)}\n"))
