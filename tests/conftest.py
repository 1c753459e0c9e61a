"""What all tests share: empty stores before each test, and stores for all tests of a file. tests/steps has the cast."""

import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.core.cache import caches
from django.db import connections, transaction
from django_redis import get_redis_connection
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker
from redis import Redis

from orders.payments.provider import call_bound
from seckill.live.answer_counts import answer_counts
from seckill.store import failures
from seckill.waiting_room.presence import presence
from shop.background import queued_tasks
from shop.catalogue import category_tree
from shop.http import health, rate_limits
from shop.local.stores.cluster_store import ClusterStore
from shop.local.stores.sentinel_store import SentinelStore
from tests import empty_tables, scheduling, shared_shop, template_database
from tests.other_database import own_url, shop_on
from tests.own_pooler import OwnPooler, running_pooler
from tests.own_store import OwnStore, running, running_replicated
from tests.web.reservations.shadow import Shadow, shadowed_clients
from web.board import figures
from web.home import home_figures
from web.metrics import scrape

pytest_plugins = ["tests.steps.cast"]

# On a busy machine, a slow example is not a failure.
hypothesis_settings.register_profile("unhurried", deadline=None)
hypothesis_settings.load_profile("unhurried")


# Django's object, whose inner one `override_settings` exchanges. The list has the one of outside of every test.
all_settings: Any = settings
_settings_of_the_run: list[object] = []


def pytest_configure() -> None:
    # The real hashers take a tenth of a second for each user, and no test is about them.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # Each client of a test would look through all static files once more; they are looked for when they are asked for.
    settings.WHITENOISE_AUTOREFRESH = True
    # Some tests ask the admin for all pages of staff; the shop imports them with the first address (shop/urls.py).
    admin.autodiscover()
    # On a busy machine a server that is late is not silent. Web processes of their own have the shop's patience.
    scrape.SCRAPE_SECONDS = health.ANSWER_SECONDS = figures.ANSWER_SECONDS = home_figures.ANSWER_SECONDS = 10.0
    call_bound.web_calls.slow_seconds = 10.0
    for name in ("default", "seckill"):
        settings.CACHES[name]["OPTIONS"]["SOCKET_TIMEOUT"] = 10.0
    # Each page asks for the categories, so that queries can be counted.
    category_tree.FRESH_SECONDS = 0.0
    empty_tables.use_for_all_tests()
    _settings_of_the_run.append(all_settings._wrapped)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First, since the marks decide what `-m` leaves out."""
    scheduling.mark(items)
    scheduling.put_in_order(items)


def pytest_collection_finish() -> None:
    """Everything that has been imported stays: nothing of it need be looked at again by the collector.

    It did not run meanwhile (tests/embedded_servers.py).
    """
    gc.collect()
    gc.freeze()
    # Objects that outlive a test are mostly kept for the whole run: looking at them again took twice as long as once.
    gc.set_threshold(gc.get_threshold()[0], 1_000)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return scheduling.whole_files(config, log)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the fixtures of the test."""
    if nextitem is None or not scheduling.has_shared_shop(nextitem.path):
        shared_shop.SHARED.stop()
    if nextitem is None or nextitem.path != item.path:
        require_settings_of_the_run()


def require_settings_of_the_run() -> None:
    """Raises AssertionError if a file leaves settings behind, once, and takes them back for the files after it.

    That happens where the fixture `settings` is written to inside a `with override_settings`: it is undone last, and
    brings back the settings of inside the `with`, for example the address of a store that has been stopped.
    """
    left, all_settings._wrapped = all_settings._wrapped, _settings_of_the_run[0]
    assert left is all_settings._wrapped, "this file leaves settings behind that it has changed"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The hook of pytest-django before it makes the database of this process."""
    with django_db_blocker.unblock():
        template_database.use_for_all_tests()


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    """Nothing of an earlier test of this process is left. One fixture, since each takes its time for each test."""
    close_lost_connections()
    forget_earlier_tests()
    for server in servers_to_empty():
        # Emptying is written to disk, and most tests write nothing.
        if server.dbsize():
            server.flushdb()
    yield
    # An outage of the store that a test has made ends with it, and is no line in the log of a later one.
    failures._failures._outages = {}


def close_lost_connections() -> None:
    """A connection that is lost fails one test and not every later one of its process."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None and connection.connection.closed:
            connection.close()


def forget_earlier_tests() -> None:
    # Counts of an earlier test are not written during this one.
    answer_counts._counts.take_new()
    failures._failures.counts._counts.take_new()
    presence._arrivals.clear()
    # A sweep that ended a moment ago keeps none of this test from its work.
    queued_tasks._ended_at.clear()
    # Counts that this process makes while the cache server is away.
    rate_limits._of_this_process.cache_clear()
    rate_limits._cache_server = rate_limits.CacheServer()
    category_tree.menu.forget()
    # The settings of an earlier test may have been other ones.
    caches["cards"].clear()


@cache
def servers_to_empty() -> list[Redis]:
    """The reservation store and the cache server, by clients that wait longer for a slow disk than the shop does."""
    return [Redis.from_url(url, socket_timeout=30) for url in (settings.SECKILL_REDIS_URL, settings.REDIS_URL)]


@pytest.fixture(scope="module")
def rows_of_the_file(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """For a fixture that makes many rows once for all tests of a file: they are gone at the end of the file.

    They are in a transaction around those of the tests, so none of the tests may ask for `transaction=True`.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def store() -> Any:
    """A raw client of the reservation store, for what the ledger does not show."""
    return get_redis_connection("seckill")


@pytest.fixture(scope="module")
def sentinel_store() -> Iterator[SentinelStore]:
    """A primary, its replica and three sentinels for the tests of one file; who kills a node restarts it."""
    with running_replicated(SentinelStore) as store:
        yield store


@pytest.fixture(scope="module")
def cluster_store() -> Iterator[ClusterStore]:
    """Three primaries with a replica each for the tests of one file; who kills a node restarts it."""
    with running_replicated(ClusterStore) as store:
        yield store


@pytest.fixture(scope="session")
def _shop_of_the_run(django_db_setup: None) -> Iterator[None]:
    """At the end of the run, the shop has to end before its database."""
    yield
    shared_shop.SHARED.stop()


@pytest.fixture
def live_shop(transactional_db: None, _shop_of_the_run: None) -> str:
    """The address of a running shop: web, a worker and beat. Other tests have used it, and its pages have forgotten."""
    return shared_shop.SHARED.url()


@pytest.fixture
def pooler(server_directory: Path) -> Iterator[OwnPooler]:
    """The shop reaches its database through a PgBouncer in transaction mode."""
    with running_pooler(server_directory) as pooler, shop_on(pooler.url, direct_url=own_url()):
        yield pooler


@pytest.fixture(scope="session")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    """An empty server. It does not sync: durability is tested elsewhere."""
    with running(tmp_path_factory.mktemp("own-store"), appendonly="no") as store:
        yield store


@pytest.fixture
def shadow() -> Iterator[Shadow]:
    """A gate that gives, after each call of a test's client, the same answer as the view, or none."""
    with shadowed_clients() as followed:
        yield followed
