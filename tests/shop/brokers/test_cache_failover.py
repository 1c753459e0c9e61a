"""Cache, sessions, limits and health on a primary behind Sentinel, which is killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client, override_settings
from django_redis import get_redis_connection

from shop.configuration.store_clients import redis_cache
from shop.http import rate_limits
from tests.processes import wait_until
from tests.shop.brokers.sentinel_group import SentinelGroup, sentinel_group

pytestmark = pytest.mark.django_db

RATE = "3/10minutes"


@pytest.fixture
def group(server_directory: Path) -> Iterator[SentinelGroup]:
    with sentinel_group(server_directory) as group:
        caches = {**settings.CACHES, "default": redis_cache(group.url, timeout_seconds=1.0)}
        with override_settings(CACHES=caches):
            yield group


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


def test_who_is_signed_in_and_what_was_counted_survive_a_failover(
    group: SentinelGroup, client: Client, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "SILENCE_SECONDS", 0.0)
    client.force_login(buyer)
    cache.set("remembered", {"for": "ever"})
    assert client.get("/api/v1/me/").json()["name"] == "buyer"
    assert attempts_left() == 3
    # A replica that lacks these may be promoted, and that is how it is for a cache.
    assert get_redis_connection("default").wait(1, 5000) == 1

    killed = group.kill_primary()
    # While no primary is found, visitors are asked to come again, and stay signed in.
    answer = client.get("/api/v1/me/")
    assert answer.status_code == 503
    assert client.get("/readyz").json()["cache"] != "ok"
    group.wait_for_failover(killed)
    wait_until(lambda: client.get("/readyz").json()["cache"] == "ok", seconds_max=10)

    assert client.get("/api/v1/me/").json()["name"] == "buyer"
    assert cache.get("remembered") == {"for": "ever"}
    assert attempts_left() == 0


def test_a_primary_that_became_a_replica_is_left(group: SentinelGroup, client: Client, buyer: User) -> None:
    client.force_login(buyer)
    assert client.get("/api/v1/me/").status_code == 200
    former = group.primary()
    group.switch_over()
    wait_until(lambda: client.get("/readyz").json()["cache"] == "ok", seconds_max=10)
    cache.set("written", "there")
    assert cache.get("written") == "there"
    assert former.client.info("replication")["role"] == "slave"
