"""What /readyz says while a server is away."""

from typing import Any

import pytest
from django.test import Client

from shop.http import health

pytestmark = pytest.mark.django_db


def away(*_: object, **__: object) -> Any:
    raise ConnectionError("redis://secret@host")


def test_all_servers_answer(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    answer = client.get("/readyz")
    names = ("status", "database", "reservation_store", "cache", "broker")
    assert (answer.status_code, answer.json()) == (200, dict.fromkeys(names, "ok"))


def test_selling_goes_on_without_the_broker(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(health.SOURCES, "broker", away)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    # What is missing, and no address.
    assert (answer.json()["status"], answer.json()["broker"]) == ("degraded", "ConnectionError")


def test_nothing_is_sold_without_postgresql(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("database", "broker"):
        monkeypatch.setitem(health.SOURCES, name, away)
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (503, "unavailable")
