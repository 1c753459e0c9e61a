"""How the shop's processes connect to the Redis servers."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from redis.backoff import NoBackoff
from redis.retry import Retry

from shop.configuration.redis_address import STORE, RedisAddress, StoreKind, read_address

# How long one sentinel may take to say where the primary is.
SENTINEL_SECONDS = 0.2
# Managed stores that keep confirmed writes through a failover, and hide their settings.
MANAGED_STORES = ("memorydb", "elasticache-synchronous")


def redis_cache(url: str, *, timeout_seconds: float, setting: str = STORE) -> dict[str, Any]:
    """A django-redis cache that gives up after `timeout_seconds` and never repeats a command by itself.

    The address decides whether one server is asked, or several behind Sentinel or as a Cluster
    (shop/configuration/redis_address.py); a Cluster is for the reservation store alone. Raises ImproperlyConfigured,
    with the name of the setting.

    redis-py repeats failed commands by default. Whether a command may be repeated is ours to decide, so retry is 0.
    """
    address = read_address(url, setting=setting)
    # A string would be divided at its commas, which a Cluster has between its hosts.
    location, more = [url], dict[str, Any]()
    if address.kind is StoreKind.SENTINEL:
        location, more = [f"redis://{address.name}/{address.database}"], sentinel_options(address)
    elif address.kind is StoreKind.CLUSTER:
        more = {"CONNECTION_FACTORY": "seckill.store.cluster.ClusterFactory"}
    never_again = Retry(NoBackoff(), 0)
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": location,
        # Values of version 1 were pickled; those of each version are seen only by processes that can read them.
        "VERSION": 2,
        "OPTIONS": {
            "CLIENT_CLASS": "django_redis.client.DefaultClient",
            "SERIALIZER": "shop.configuration.cache_plugins.PlainJSONSerializer",
            "SOCKET_CONNECT_TIMEOUT": timeout_seconds,
            "SOCKET_TIMEOUT": timeout_seconds,
            "CONNECTION_POOL_KWARGS": {
                "retry": never_again,
                "socket_keepalive": True,
                **({"ssl": True} if address.tls and address.kind is StoreKind.SENTINEL else {}),
            },
            **more,
        },
    }


def sentinel_options(address: RedisAddress) -> dict[str, Any]:
    """The options with which django-redis finds a primary by its sentinels."""
    asked = {
        "retry": Retry(NoBackoff(), 0),
        # All of them may be silent, and the primary must still be asked within the two seconds of a call.
        "socket_connect_timeout": SENTINEL_SECONDS,
        "socket_timeout": SENTINEL_SECONDS,
        "username": address.sentinel_username,
        "password": address.sentinel_password,
        "ssl": address.tls,
    }
    return {
        "CONNECTION_FACTORY": "shop.configuration.cache_plugins.SentinelFactory",
        "SENTINELS": list(address.hosts),
        "SENTINEL_KWARGS": asked,
        "USERNAME": address.username,
        "PASSWORD": address.password,
    }


def check_promises(yes_replicas: int, *, wait_ms: int, durability: str) -> None:
    """Raises ImproperlyConfigured for a promise that the reservation store cannot be held to."""
    # The answer itself may take 0.9 s (CACHES), and WAIT 0 would wait for ever.
    if yes_replicas < 0 or not 1 <= wait_ms <= 800:
        raise ImproperlyConfigured("SECKILL_YES_REPLICAS must be 0 or more, SECKILL_YES_WAIT_MS from 1 to 800.")
    if durability not in ("", *MANAGED_STORES):
        raise ImproperlyConfigured(f"SECKILL_STORE_DURABILITY must be empty, or one of {', '.join(MANAGED_STORES)}.")
