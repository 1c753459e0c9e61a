"""A Valkey Cluster of three primaries without replicas, for the length of a `with`."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from shop.local.stores.cluster_store import PRIMARIES, ClusterStore


class Primaries(ClusterStore):
    """Replicas would take a part of the processors that are measured."""

    node_count = PRIMARIES

    @property
    def url(self) -> str:
        """The address of one node, which knows the others."""
        return f"redis://:{self.password}@127.0.0.1:{self.nodes[0].port}/0"

    def is_settled(self) -> bool:
        return all((node.ask("CLUSTER INFO") or {}).get("cluster_state") == "ok" for node in self.nodes)


@contextmanager
def running_cluster() -> Iterator[Primaries]:
    """In a temporary directory. Call it in the main thread. Raises ProcessFailed."""
    with TemporaryDirectory(prefix="stampede-cluster-") as directory:
        cluster = Primaries(directory=Path(directory), password=secrets.token_hex(16))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
