"""The connection to the reservation store."""

from collections.abc import Iterator
from contextlib import contextmanager

from django_redis import get_redis_connection
from redis import Redis
from redis.exceptions import RedisError


class StoreUnreachable(Exception):
    """The reservation store did not answer, or refused. A call that was under way may or may not have taken effect."""


@contextmanager
def store() -> Iterator[Redis]:
    """The reservation store's client. Inside the `with`, every RedisError becomes StoreUnreachable."""
    try:
        yield get_redis_connection("seckill")
    except RedisError as error:
        raise StoreUnreachable(str(error)) from error
