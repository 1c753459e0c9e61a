"""A client of the harness's Valkeys for commands that the shop never sends: FLUSHALL, CONFIG SET, REPLICAOF, …"""

from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

CLIENT_SECONDS_MAX = 5.0

ValkeyError = RedisError


def client_at(port: int, *, password: str) -> Any:
    """A client that never repeats a command."""
    return Redis(
        host="127.0.0.1",
        port=port,
        password=password,
        retry=Retry(NoBackoff(), 0),
        socket_timeout=CLIENT_SECONDS_MAX,
        socket_connect_timeout=CLIENT_SECONDS_MAX,
    )
