"""`manage.py check --deploy` is plain about weak servers, and no other check asks the stores.

On a good installation it is silent: tests/deploy/test_readme_commands.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.checks import CheckMessage, run_checks
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from shop.configuration.store_clients import redis_cache
from shop.local.ports import free_port
from shop.local.postgres import PostgresServer
from shop.local.process import start_processes
from tests.other_database import shop_on
from tests.own_store import as_reservation_store, running

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def postgres_with(directory: Path, *options: str) -> Iterator[PostgresServer]:
    """A PostgreSQL of its own with these settings, which none of the run's may have."""
    server = PostgresServer(directory=directory / "postgres", port=free_port(), password="of-a-test")
    with (directory / "lock").open("w") as lock:
        process = server.process(log_path=directory / "postgres.log", lock_fd=lock.fileno())
        process.argv = [*process.argv, *(word for option in options for word in ("-c", option))]
        try:
            start_processes(processes=[process])
            yield server
        finally:
            process.kill()


def weaknesses() -> list[CheckMessage]:
    return run_checks(tags=["durability"], include_deployment_checks=True)


def test_every_weak_setting_is_an_error_that_says_what_to_set_and_a_warning_where_it_is_allowed(
    server_directory: Path,
) -> None:
    weak = ["synchronous_commit=off", "fsync=off", "full_page_writes=off"]
    with (
        running(server_directory, appendfsync="everysec", maxmemory_policy="allkeys-lru") as store,
        postgres_with(server_directory, *weak) as postgres,
        as_reservation_store(store),
        shop_on(postgres.url),
    ):
        refused = weaknesses()
        with override_settings(SECKILL_ALLOW_WEAK_DURABILITY=True):
            allowed = weaknesses()
    assert [message.id for message in refused] == ["seckill.E001"] * 5
    for advice, message in zip(
        (
            *("Set appendfsync always", "Set maxmemory-policy noeviction"),
            *("Set synchronous_commit = on", "Set fsync = on", "Set full_page_writes = on"),
        ),
        refused,
        strict=True,
    ):
        assert advice in f"{message.msg} {message.hint}"
    assert [message.id for message in allowed] == ["seckill.W001"] * 5
    assert {str(message.hint) for message in allowed} == {
        "Sales can open only because SECKILL_ALLOW_WEAK_DURABILITY is set."
    }


def test_the_setting_of_the_connection_counts() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        try:
            [message] = weaknesses()
        finally:
            cursor.execute("RESET synchronous_commit")
    assert message.msg.startswith("PostgreSQL confirms orders before they are on disk")


def test_without_deploy_no_server_is_asked() -> None:
    nowhere = redis_cache("redis://127.0.0.1:1/0", timeout_seconds=1.0)
    with override_settings(CACHES={"default": nowhere, "seckill": nowhere}), CaptureQueriesContext(connection) as asked:
        assert run_checks() == []
    assert len(asked) == 0
