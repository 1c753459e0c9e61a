"""Each server is killed in turn while somebody looks at the live board and Prometheus reads /metrics: both go on."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import override_settings
from playwright.sync_api import Page, expect
from prometheus_client.parser import text_string_to_metric_families

from seckill.models import SaleItem
from shop.configuration.store_clients import redis_cache
from shop.models import Product
from tests.browser.conftest import sign_in
from tests.embedded_servers import temporary_server_directory
from tests.live_shop import live_shop
from tests.other_database import own_url, shop_on
from tests.own_postgres import OwnPostgres
from tests.own_store import OwnStore, as_reservation_store, running
from tests.processes import wait_until
from tests.shared_shop import collect_static_files
from tests.steps.caller import Caller
from tests.steps.cast import PassFor
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_MS = 30_000
PATIENCE_SECONDS = PATIENCE_MS / 1000

# The variables of the servers, by the names that /metrics gives them.
VARIABLES = {
    "database": "DATABASE_URL",
    "reservation_store": "SECKILL_REDIS_URL",
    "cache": "REDIS_URL",
    "broker": "CELERY_BROKER_URL",
}
# The board asks no broker, so it has no line for it.
ON_THE_BOARD = ("database", "reservation_store", "cache")


@pytest.fixture
def servers(product: Product, shop_manager: User) -> Iterator[dict[str, OwnStore | OwnPostgres]]:
    """Servers that this test alone uses. PostgreSQL is a copy with the product and the person."""
    collect_static_files()
    with ExitStack() as stack:
        directory: Path = stack.enter_context(temporary_server_directory())
        stores = {name: stack.enter_context(running(directory / name)) for name in VARIABLES if name != "database"}
        database = OwnPostgres(directory / "database", source_url=own_url())
        stack.callback(database.stop)
        yield {"database": database, **stores}


def scraped(shop: str) -> dict[str, float]:
    """Which sources answer, as Prometheus' own parser reads it."""
    with urlopen(f"{shop}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert len(samples) > 10
    return {sample.labels["source"]: sample.value for sample in samples if sample.name == "stampede_source_up"}


def test_the_board_and_the_figures_go_on_while_each_server_is_killed_in_turn(
    servers: dict[str, OwnStore | OwnPostgres], page: Page, shop_manager: User, product: Product, pass_for: PassFor
) -> None:
    store, cache = servers["reservation_store"], servers["cache"]
    assert isinstance(store, OwnStore)
    caches = {**settings.CACHES, "default": redis_cache(cache.url, timeout_seconds=0.9)}
    with override_settings(CACHES=caches), as_reservation_store(store), shop_on(servers["database"].url):
        item = make_item(product, quantity=3)
        sign_in(page.context, shop_manager)
        buyer_pass = pass_for(shop_manager, item)
    addresses = {VARIABLES[name]: server.url for name, server in servers.items()}
    with live_shop(names=("web", "repair", "beat"), **addresses) as shop:
        page.goto(f"{shop}/admin/seckill/sale/{item.sale_id}/board/")
        expect(page.locator("[data-sum=left]")).to_have_text("3", timeout=PATIENCE_MS)
        expect(page.locator("[data-sum=orders]")).to_have_text("0", timeout=PATIENCE_MS)
        assert scraped(shop) == dict.fromkeys(VARIABLES, 1)
        for name, server in servers.items():
            server.kill()
            wait_until(lambda name=name: scraped(shop)[name] == 0, seconds_max=PATIENCE_SECONDS)  # type: ignore[misc]
            if name in ON_THE_BOARD:
                said = page.locator(f"[data-away={name}]")
                expect(said).to_contain_text("does not answer", timeout=PATIENCE_MS)
            goes_on(page)
            # The others are still read.
            assert scraped(shop) == {**dict.fromkeys(VARIABLES, 1), name: 0}
            server.start()
            wait_until(lambda: scraped(shop) == dict.fromkeys(VARIABLES, 1), seconds_max=PATIENCE_SECONDS)
            for line in page.locator("[data-away]").all():
                expect(line).to_be_empty(timeout=PATIENCE_MS)
            # A store that was killed is compared with the orders first.
            expect(page.locator("[data-sum=left]")).to_have_text("3", timeout=PATIENCE_MS)
        follows_the_sale(shop, page, item, buyer_pass)


def goes_on(page: Page) -> None:
    """What is known stays, and the clock goes on."""
    expect(page.locator("[data-sum=left]")).to_have_text("3")
    expect(page.locator("[data-sum=orders]")).to_have_text("0")
    clock = page.locator("[data-clock]")
    before = clock.inner_text()
    expect(clock).not_to_have_text(before, timeout=PATIENCE_MS)
    expect(page.locator("[data-problem]")).to_be_empty()


def follows_the_sale(shop: str, page: Page, item: SaleItem, buyer_pass: str) -> None:
    assert Caller(shop, item).reserve(buyer_pass)[0] == 201
    expect(page.locator("[data-sum=left]")).to_have_text("2", timeout=PATIENCE_MS)
