"""The client that a strategy is given."""

from typing import Any

from redis.cluster import RedisCluster

from bench.lab.servers.lab_store import CLIENT_SECONDS_MAX, store_client
from bench.strategies.base.strategy import Backend


def strategy_client(url: str, *, backend: Backend, retries: int = 0) -> Any:
    """A client of the store or of the cluster; None for a strategy that keeps its stock in the database.

    `retries` is for the lab's own connections, which must work again after a restart; buyers have none.
    """
    if backend is Backend.DATABASE:
        return None
    if backend is Backend.CLUSTER:
        return RedisCluster.from_url(url, socket_timeout=CLIENT_SECONDS_MAX)
    return store_client(url, retries=retries)
