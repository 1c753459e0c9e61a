"""Which reservation store a shop under test has, and how the harness itself speaks to it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.test import override_settings

from seckill.store.durability import DOWN_AFTER_MS_MIN
from shop.configuration.redis_address import StoreKind
from shop.configuration.store_clients import redis_cache
from shop.local.servers import REPLICATED_STORES
from shop.local.stores.replicated_store import ReplicatedStore
from shop.local.stores.sentinel_store import SentinelStore

# That of the shop's own settings (CACHES).
STORE_TIMEOUT_SECONDS = 0.9


class ThreeNodes(SentinelStore):
    """A primary with two replicas, of which one confirms a yes."""

    node_count = 3
    down_after_ms = DOWN_AFTER_MS_MIN


@dataclass(frozen=True, slots=True)
class ShopKind:
    """One server, a primary behind sentinels, or a cluster; and how many replicas have each yes before it is told.

    `has_three_nodes`: behind sentinels, with one replica more than usual.
    """

    store: StoreKind = StoreKind.SINGLE
    yes_replicas: int = 0
    has_three_nodes: bool = False

    def __str__(self) -> str:
        nodes = " of three" if self.has_three_nodes else ""
        replicas = f", a yes waits for {self.yes_replicas} replica" if self.yes_replicas else ""
        return f"{self.store}{nodes}{replicas}"

    @property
    def directory_name(self) -> str:
        """Of its files among those of a run; empty for the usual shop."""
        if self.store is StoreKind.SINGLE:
            return ""
        return f"{self.store}-{self.yes_replicas}{'-of-three' if self.has_three_nodes else ''}"

    def replicated_store(self, *, directory: Path, password: str) -> ReplicatedStore | None:
        """The store's servers, not prepared; None for a single one."""
        if self.store is StoreKind.SINGLE:
            return None
        make: Callable[..., ReplicatedStore] = ThreeNodes if self.has_three_nodes else REPLICATED_STORES[self.store]
        return make(
            directory=directory / "store",
            password=password,
            replicas_min=self.yes_replicas,
            log_directory=directory / "logs",
        )


@contextmanager
def reservation_store_at(url: str) -> Iterator[None]:
    """The harness asks this store. Its own settings name a single one; others choose their ports when they start."""
    caches = {**settings.CACHES, "seckill": redis_cache(url, timeout_seconds=STORE_TIMEOUT_SECONDS)}
    with override_settings(CACHES=caches):
        yield
