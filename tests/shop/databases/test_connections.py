"""Which connections the shop has, by the addresses that the settings were given; and which one migrations use."""

import os

from shop.configuration.database_connections import databases
from tests.steps.operating import settings_of

POOLED = "postgres://shop:secret@pooler:6432/shop"
STRAIGHT = "postgres://shop:secret@postgres:5432/shop"
OWNER = "postgres://owner:secret@postgres:5432/shop"
COPY = "postgres://shop:secret@replica:5432/shop"


def test_one_address_is_one_connection_that_asks_for_its_timeouts() -> None:
    found = databases(url=STRAIGHT, direct_url="", replica_url="", argv=["manage.py", "migrate"])
    assert list(found) == ["default"]
    assert "-c idle_in_transaction_session_timeout=30s" in found["default"]["OPTIONS"]["options"]
    assert "DISABLE_SERVER_SIDE_CURSORS" not in found["default"]


def test_a_pooled_connection_asks_for_nothing_and_has_no_cursors_on_the_server() -> None:
    found = databases(url=POOLED, direct_url=STRAIGHT, replica_url="", argv=["granian"])
    assert {alias: each["HOST"] for alias, each in found.items()} == {"default": "pooler", "direct": "postgres"}
    assert "options" not in found["default"]["OPTIONS"]
    assert found["default"]["DISABLE_SERVER_SIDE_CURSORS"]
    assert "options" in found["direct"]["OPTIONS"]
    # A session of the server is given back at once.
    assert found["direct"]["CONN_MAX_AGE"] == 0


def test_options_of_the_address_come_first() -> None:
    found = databases(url=f"{STRAIGHT}?connect_timeout=7", direct_url="", replica_url="", argv=[])
    assert found["default"]["OPTIONS"]["connect_timeout"] == 7


def test_commands_that_change_tables_have_the_direct_connection_alone() -> None:
    """A step in Python that used the pooler would wait for the locks of its own migration."""
    for command in ("migrate", "add_languages", "sync_translation_fields"):
        found = databases(url=POOLED, direct_url=STRAIGHT, replica_url=COPY, argv=["manage.py", command])
        assert {alias: each["HOST"] for alias, each in found.items()} == {"default": "postgres"}, command


def test_a_migration_gives_up_a_lock_that_buyers_wait_behind() -> None:
    for direct in ("", STRAIGHT):
        found = databases(url=STRAIGHT, direct_url=direct, replica_url="", argv=["manage.py", "migrate"])
        assert "-c lock_timeout=5s" in found["default"]["OPTIONS"]["options"]
    found = databases(url=STRAIGHT, direct_url="", replica_url="", argv=["granian"])
    assert "lock_timeout=10s" in found["default"]["OPTIONS"]["options"]


def test_only_commands_that_change_tables_have_the_role_that_may() -> None:
    addresses = {"url": POOLED, "direct_url": STRAIGHT, "replica_url": "", "owner_url": OWNER}
    assert databases(**addresses, argv=["manage.py", "migrate"])["default"]["USER"] == "owner"
    assert {one["USER"] for one in databases(**addresses, argv=["granian"]).values()} == {"shop"}


def test_the_settings_look_at_the_command() -> None:
    addresses = {"DATABASE_URL": POOLED, "DIRECT_DATABASE_URL": STRAIGHT, "REPLICA_DATABASE_URL": COPY}
    for command, hosts in (
        ("migrate", {"default": "postgres"}),
        ("check", {"default": "pooler", "direct": "postgres", "replica": "replica"}),
    ):
        found = settings_of({**os.environ, **addresses}, argv=["manage.py", command])["DATABASES"]
        assert {alias: each["HOST"] for alias, each in found.items()} == hosts
