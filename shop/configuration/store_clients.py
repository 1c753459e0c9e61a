"""How the shop's processes connect to the Redis servers."""

from typing import Any

from redis.backoff import NoBackoff
from redis.retry import Retry


def redis_cache(url: str, *, timeout_seconds: float) -> dict[str, Any]:
    """A django-redis cache that gives up after `timeout_seconds` and never repeats a command by itself.

    redis-py repeats failed commands by default. Whether a command may be repeated is ours to decide, so retry is 0.
    """
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": url,
        # Values of version 1 were pickled; those of each version are seen only by processes that can read them.
        "VERSION": 2,
        "OPTIONS": {
            "CLIENT_CLASS": "django_redis.client.DefaultClient",
            "SERIALIZER": "shop.configuration.plain_json.PlainJSONSerializer",
            "SOCKET_CONNECT_TIMEOUT": timeout_seconds,
            "SOCKET_TIMEOUT": timeout_seconds,
            "CONNECTION_POOL_KWARGS": {"retry": Retry(NoBackoff(), 0), "socket_keepalive": True},
        },
    }
