"""The fixtures that most tests use: buyers, a product, an item on sale, the API."""

import os
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone
from django_redis import get_redis_connection
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker
from rest_framework.test import APIClient

from seckill.models import Sale, SaleItem
from seckill.passes import passes
from seckill.publication import publish_sale
from shop.catalogue import category_tree
from shop.local.stores.cluster_store import ClusterStore
from shop.local.stores.sentinel_store import SentinelStore
from shop.models import Category, Product
from tests import empty_tables
from tests.own_store import OwnStore, running, running_replicated
from tests.products import make_product, variant_of
from tests.web.reservations.shadow import Shadow, shadowed_clients

# On a busy machine, a slow example is not a failure.
hypothesis_settings.register_profile("unhurried", deadline=None)
hypothesis_settings.load_profile("unhurried")


def pytest_configure() -> None:
    # The real hashers take a tenth of a second for each user, and no test is about them.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # Each client of a test would look through all static files once more; they are looked for when they are asked for.
    settings.WHITENOISE_AUTOREFRESH = True
    empty_tables.use_for_all_tests()
    # Chosen before xdist starts its workers, which inherit it (tests/seckill/scripts/mutant_sample.py).
    os.environ.setdefault("LUA_MUTANTS", str(random.SystemRandom().randrange(1_000_000)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """In the summary and not in the header, which -q leaves out."""
    terminalreporter.write_line(f"The sample of Lua mutants: LUA_MUTANTS={os.environ['LUA_MUTANTS']}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright keeps an event loop running in this thread, and asyncio allows no second one.

    Of these the longest files come first, so that no process is left alone with one at the end. The one with two tests
    is the last of them, since xdist gives the next file to a process that has no more than two tests to do.
    """
    longest = ("test_sale_page", "test_buying", "test_every_page")
    places = {name: place for place, name in enumerate(longest)}
    items.sort(key=lambda item: ("browser" in item.path.parts, places.get(item.path.stem, len(longest))))


@pytest.fixture(autouse=True)
def _fresh_stores() -> None:
    """Each test starts with empty stores. They are this run's own (tests/embedded_servers.py starts them)."""
    get_redis_connection("seckill").flushdb()
    cache.clear()


@pytest.fixture(scope="module")
def rows_of_the_file(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """For a fixture that makes many rows once for all tests of a file: they are gone at the end of the file.

    They are in a transaction around those of the tests, so none of the tests may ask for `transaction=True`.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def _fresh_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page has the categories of another test, and each asks for them, so that queries can be counted."""
    category_tree.menu.forget()
    monkeypatch.setattr(category_tree, "FRESH_SECONDS", 0.0)


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


@pytest.fixture
def buyer(db: None) -> User:
    return User.objects.create_user("buyer", password="buyer-password")


@pytest.fixture
def buyer_with_password(buyer: User) -> User:
    """A buyer who can sign in with the form: the shop's own hashers do not know the cheap one of the tests."""
    buyer.password = PBKDF2PasswordHasher().encode("a-good-password", "salt", iterations=1_000)
    buyer.save(update_fields=["password"])
    return buyer


@pytest.fixture
def rival(db: None) -> User:
    return User.objects.create_user("rival", password="rival-password")


@pytest.fixture
def stranger(db: None) -> User:
    return User.objects.create_user("stranger", password="stranger-password")


@pytest.fixture
def shop_manager(db: None) -> User:
    return User.objects.create_superuser("manager", password="manager-password")


@pytest.fixture
def product(db: None) -> Product:
    category = Category.objects.create(name="Tea", name_zh_hans="茶", slug="tea")
    return make_product(
        name="Longjing tea", name_zh_hans="龙井茶", slug="longjing", price_minor=9900, category=category
    )


def make_item(
    product: Product,
    *,
    quantity: int | None = 5,
    per_buyer_max: int = 1,
    price_minor: int = 1900,
    opens_in_seconds: float = -60,
    closes_in_seconds: float = 3600,
    hold_seconds: int = 900,
    published: bool = True,
) -> SaleItem:
    """A sale of one item."""
    now = timezone.now()
    sale = Sale.objects.create(
        name="Spring sale",
        name_zh_hans="春季秒杀",
        opens_at=now + timedelta(seconds=opens_in_seconds),
        closes_at=now + timedelta(seconds=closes_in_seconds),
        hold_seconds=hold_seconds,
    )
    item = SaleItem.objects.create(
        sale=sale, variant=variant_of(product), quantity=quantity, per_buyer_max=per_buyer_max, price_minor=price_minor
    )
    if published:
        publish_sale(sale_id=sale.pk)
        item.refresh_from_db()
    return item


@pytest.fixture
def item(product: Product) -> SaleItem:
    """Five units on sale now, at most one per buyer."""
    return make_item(product)


@pytest.fixture
def api() -> APIClient:
    return APIClient()


@pytest.fixture
def pass_for() -> Callable[..., str]:
    """Makes a valid pass for a buyer and an item, as the API does."""

    def issue(buyer: User, item: SaleItem, *, expires_in_seconds: int = 600) -> str:
        expires_s = int(timezone.now().timestamp()) + expires_in_seconds
        return passes.issue(item_id=item.pk, buyer_id=buyer.pk, expires_s=expires_s)

    return issue


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
