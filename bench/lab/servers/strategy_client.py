"""The client that a strategy is handed, by where it keeps its stock."""

from typing import Any

from redis.cluster import RedisCluster

from bench.lab.servers.lab_store import CLIENT_SECONDS_MAX, store_client
from bench.strategies.base.strategy import Home


def client_of(url: str, *, home: Home, retries: int = 0) -> Any:
    """A client of the store or of the cluster; None for a strategy that keeps its stock in the database.

    `retries` is for the eyes of the lab, which must see again after a restart; buyers have none.
    """
    if home is Home.DATABASE:
        return None
    if home is Home.CLUSTER:
        return RedisCluster.from_url(url, socket_timeout=CLIENT_SECONDS_MAX)
    return store_client(url, retries=retries)
