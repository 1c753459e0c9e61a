"""A client of the harness's own Valkeys, for what no shop ever asks of its store: to forget, to be full, to follow."""

from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

CLIENT_SECONDS_MAX = 5.0

ValkeyError = RedisError


def client_at(port: int, *, password: str) -> Any:
    """A client that does what it is told once."""
    return Redis(
        host="127.0.0.1",
        port=port,
        password=password,
        retry=Retry(NoBackoff(), 0),
        socket_timeout=CLIENT_SECONDS_MAX,
        socket_connect_timeout=CLIENT_SECONDS_MAX,
    )
