"""What is in the cache server is JSON. A pickle that somebody writes there is not executed."""

import os
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django_redis import get_redis_connection

pytestmark = pytest.mark.django_db


class Planted:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def raw_values() -> list[bytes]:
    server = get_redis_connection("default")
    return [server.get(key) for key in server.scan_iter()]


def overwrite_all(value: bytes) -> None:
    server = get_redis_connection("default")
    for key in server.scan_iter():
        server.set(key, value)


def test_a_session_is_stored_as_json(as_buyer: Client) -> None:
    (value,) = raw_values()
    assert value.startswith(b'{"_auth_user_id": ')


def test_a_planted_pickle_is_not_executed(as_buyer: Client, tmp_path: Path) -> None:
    for protocol in (0, pickle.HIGHEST_PROTOCOL):
        overwrite_all(pickle.dumps(Planted(tmp_path / "executed"), protocol))
        answer = as_buyer.get("/orders/")
        assert not (tmp_path / "executed").exists()
        assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=/orders/")


def test_a_damaged_session_is_no_session(client: Client, buyer: User) -> None:
    for value in (b"[1, 2]", b'"text"', b"7", b"", b"{", b"[" * 100_000, b"\xff", b"null", b"true"):
        client.force_login(buyer)
        overwrite_all(value)
        assert client.get("/orders/").status_code == 302, value[:10]
    client.force_login(buyer)
    assert client.get("/orders/").status_code == 200


def test_stored_values_come_back() -> None:
    for value in ({"at_s": 1.5, "items": ["a", None, True]}, [1.5, 2.5], 7, True, "text", {}):
        cache.set("key", value)
        found: Any = cache.get("key")
        assert found == value
        assert type(found) is type(value)


def test_a_value_that_json_does_not_know_is_refused_and_not_changed() -> None:
    with pytest.raises(TypeError):
        cache.set("key", datetime.now(UTC))


def test_every_server_is_written_so() -> None:
    servers = [cache for cache in settings.CACHES.values() if "LOCATION" in cache]
    assert len(servers) == 2
    assert {server["OPTIONS"]["SERIALIZER"] for server in servers} == {
        "shop.configuration.cache_plugins.PlainJSONSerializer"
    }
