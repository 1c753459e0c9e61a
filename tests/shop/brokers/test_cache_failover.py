"""Cache, sessions, limits and health on a primary behind Sentinel, which is killed."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client, override_settings
from django_redis import get_redis_connection

from shop.configuration.store_clients import redis_cache
from shop.http import rate_limits
from shop.local.stores.sentinel_store import PRIMARY_NAME, SentinelStore
from tests.processes import wait_until

pytestmark = pytest.mark.django_db

RATE = "3/10minutes"
FAILOVER_SECONDS_MAX = 30.0


@pytest.fixture
def cache_servers(sentinel_store: SentinelStore) -> Iterator[SentinelStore]:
    caches = {**settings.CACHES, "default": redis_cache(sentinel_store.url, timeout_seconds=1.0)}
    with override_settings(CACHES=caches):
        yield sentinel_store


def attempts_left() -> int:
    """How often `key` may still try, by trying."""
    left = 0
    try:
        while left < 10:
            rate_limits.take(action="test", rate=RATE, key="key")
            left += 1
    except rate_limits.LimitReached:
        pass
    return left


def test_sessions_and_counts_survive_a_failover(
    cache_servers: SentinelStore, client: Client, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "SILENCE_SECONDS", 0.0)
    client.force_login(buyer)
    cache.set("remembered", {"for": "ever"})
    assert client.get("/api/v1/me/").json()["name"] == "buyer"
    assert attempts_left() == 3
    # A replica that lacks these may be promoted, and that is how it is for a cache.
    assert get_redis_connection("default").wait(1, 5000) == 1

    killed = cache_servers.primary()
    cache_servers.kill(killed)
    try:
        # While no primary is found, visitors are asked to come again, and stay signed in.
        answer = client.get("/api/v1/me/")
        assert answer.status_code == 503
        assert client.get("/readyz").json()["cache"] != "ok"
        wait_until(lambda: cache_servers.has_replaced(killed), seconds_max=FAILOVER_SECONDS_MAX)
        wait_until(lambda: client.get("/readyz").json()["cache"] == "ok", seconds_max=10)

        assert client.get("/api/v1/me/").json()["name"] == "buyer"
        assert cache.get("remembered") == {"for": "ever"}
        assert attempts_left() == 0
    finally:
        cache_servers.restart(killed)
        cache_servers.await_settled()


def test_a_primary_that_became_a_replica_is_left(cache_servers: SentinelStore, client: Client, buyer: User) -> None:
    client.force_login(buyer)
    assert client.get("/api/v1/me/").status_code == 200
    former = cache_servers.primary()
    replica = cache_servers.replica_of(former)
    # As an operator does it: the replica becomes the primary, and the primary, which lives, its replica. A sentinel
    # refuses while it knows no replica that could.
    sentinel = cache_servers.watchers[0]
    wait_until(lambda: sentinel.ask("SENTINEL FAILOVER", PRIMARY_NAME) is not None, seconds_max=FAILOVER_SECONDS_MAX)
    wait_until(lambda: former.follows(replica), seconds_max=FAILOVER_SECONDS_MAX)
    wait_until(lambda: client.get("/readyz").json()["cache"] == "ok", seconds_max=10)
    cache.set("written", "there")
    assert cache.get("written") == "there"
    assert former.follows(replica)
