"""A Valkey Cluster as reservation store: three primaries with a replica each.

<directory>/store-1 … store-6     data and nodes.conf; at first the replicas are 4, 5 and 6
"""

from shop.local.ports import free_ports
from shop.local.postgres import DataUnusable
from shop.local.private_file import write_private
from shop.local.stores import nodes_conf
from shop.local.stores.nodes_conf import NodeAddress
from shop.local.stores.replicated_store import ReplicatedStore
from shop.local.stores.store_node import HOST, StoreNode

# With fewer primaries no majority would remain after a failure.
PRIMARIES = 3

# A primary that is silent for so long is replaced: short enough for buyers to wait, long enough for a busy laptop.
_NODE_TIMEOUT_MS = 2_500

_CLUSTER_LINES = """\
cluster-enabled yes
cluster-port {bus_port}
cluster-config-file nodes.conf
cluster-node-timeout {timeout_ms}
cluster-announce-ip {host}
# Items of the other primaries go on selling while one is away.
cluster-require-full-coverage no
# Each primary keeps its own replica.
cluster-allow-replica-migration no
"""


class ClusterStore(ReplicatedStore):
    """Items are spread over the primaries by the slot of their keys."""

    title = "three primaries with a replica each, a Valkey Cluster"
    node_count = 2 * PRIMARIES

    @property
    def url(self) -> str:
        hosts = ",".join(f"{HOST}:{node.port}" for node in self.nodes)
        return f"redis+cluster://:{self.password}@{hosts}"

    def prepare(self, *, lock_fd: int) -> None:
        # The bus gets ports of its own: by default it is 10000 above the port, in the range of outgoing connections.
        ports = free_ports(count=2 * self.node_count)
        addresses = [
            NodeAddress(port=port, bus_port=bus_port)
            for port, bus_port in zip(ports[: self.node_count], ports[self.node_count :], strict=True)
        ]
        self._write_nodes_files(addresses)
        self.nodes = [
            self._cluster_node(number, address, lock_fd=lock_fd) for number, address in enumerate(addresses, start=1)
        ]

    def is_settled(self) -> bool:
        return all(
            (node.ask("CLUSTER INFO") or {}).get("cluster_state") == "ok" and node.is_in_sync() for node in self.nodes
        )

    def primary(self, *, key: str = "") -> StoreNode:
        slot = next((slot for node in self.nodes if (slot := node.ask("CLUSTER KEYSLOT", key)) is not None), None)
        owners = [] if slot is None else [(epoch, node) for node in self.nodes if (epoch := _epoch(node, slot=slot))]
        if not owners:
            raise LookupError(f"no node has the slot of {key!r}")
        return max(owners, key=lambda owner: owner[0])[1]

    def primaries(self) -> list[StoreNode]:
        """The nodes that have slots, as they say themselves."""
        return [node for node in self.nodes if any(_own_slots(node)[1])]

    def _cluster_node(self, number: int, address: NodeAddress, *, lock_fd: int) -> StoreNode:
        title = f"Valkey, reservation store, node {number} of {self.node_count}"
        lines = _CLUSTER_LINES.format(bus_port=address.bus_port, timeout_ms=_NODE_TIMEOUT_MS, host=HOST)
        return self._node(self._server(f"store-{number}", title=title, port=address.port, more=lines), lock_fd=lock_fd)

    def _write_nodes_files(self, addresses: list[NodeAddress]) -> None:
        """Tell each node where the others are. Nothing may run meanwhile."""
        paths = [self.directory / f"store-{number}" / "nodes.conf" for number in range(1, self.node_count + 1)]
        texts = [path.read_text() if path.exists() else "" for path in paths]
        ids = [nodes_conf.own_id(text=text) for text in texts]
        if not any((path.parent / "appendonlydir").exists() for path in paths):
            # A first start, or one that was interrupted.
            texts = nodes_conf.new_files(addresses=addresses, primaries=PRIMARIES, host=HOST)
        elif all(ids):
            places = {node_id: address for node_id, address in zip(ids, addresses, strict=True) if node_id}
            texts = [nodes_conf.readdressed(text=text, addresses=places, host=HOST) for text in texts]
        else:
            missing = paths[ids.index(None)]
            raise DataUnusable(
                f"{self.directory} holds data of a cluster, but {missing} is missing or damaged. "
                f"Put the file back, or move {self.directory} away to start with an empty store."
            )
        for path, text in zip(paths, texts, strict=True):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(path=path, text=text)


def _own_slots(node: StoreNode) -> tuple[int, list[tuple[int, int]]]:
    """The epoch and the ranges of slots that the node claims; none if it is a replica or gives no answer."""
    for line in (node.ask("CLUSTER NODES") or {}).values():
        if "myself" in line["flags"].split(",") and "master" in line["flags"].split(","):
            return int(line["epoch"]), [(int(slots[0]), int(slots[-1])) for slots in line["slots"]]
    return 0, []


def _epoch(node: StoreNode, *, slot: int) -> int:
    """With which epoch the node claims the slot; 0 if it does not."""
    epoch, ranges = _own_slots(node)
    return epoch if any(first <= slot <= last for first, last in ranges) else 0
