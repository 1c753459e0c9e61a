"""What the server tells of itself (its change: tests/orders/repair/test_promoted_standby.py)."""

import secrets
from urllib.parse import urlsplit

import pytest
from django.db import OperationalError, connection
from structlog.testing import capture_logs

from shop.databases import timeline
from shop.databases.timeline import database_timeline
from tests.other_database import own_url, shop_on

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_role_without_rights_learns_the_timeline() -> None:
    name = f"plain_{secrets.token_hex(4)}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'plain'")
        try:
            parts = urlsplit(own_url())
            with shop_on(parts._replace(netloc=f"{name}:plain@{parts.netloc.rpartition('@')[2]}").geturl()):
                found = database_timeline()
        finally:
            cursor.execute(f"DROP ROLE {name}")
    server, number = database_timeline().split("/")
    assert found == f"{server}/{number}"
    assert int(number) >= 1


def test_a_server_that_does_not_tell_has_no_timeline_and_that_is_logged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "FIND_TIMELINE", "SELECT function_of_no_managed_service()")
    with capture_logs() as logs:
        assert [database_timeline() for _ in range(2)] == ["", ""]
    assert [line["event"] for line in logs] == ["database_timeline_unknown"]


def test_a_server_that_does_not_answer_has_no_timeline() -> None:
    with shop_on("postgres://nobody:none@127.0.0.1:1/none"), pytest.raises(OperationalError):
        database_timeline()
