"""A server that is silent holds the threads of pages; buyers with a pass go on reserving, and operators see it."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event
from urllib.parse import urlsplit

import pytest

from bench.faults.wire.proxy import Mode, Proxy
from seckill.models import SaleItem
from shop.local.ports import free_port
from shop.models import Product
from tests.live_shop import environment, live_processes, status_of
from tests.processes import wait_until
from tests.steps.buying import new_buyers
from tests.steps.caller import ask
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

# Longer than a statement may take (10 s).
FROZEN_SECONDS = 15.0
GIVE_UP_SECONDS = 8.0
SOURCES = ("database", "reservation_store", "cache", "broker")
# The variables of the shop's servers, by the names that /metrics gives them.
VARIABLES = {"database": "DATABASE_URL", "reservation_store": "SECKILL_REDIS_URL", "cache": "REDIS_URL"}


@dataclass(frozen=True)
class Shop:
    """A web server, and the ways by which it reaches its servers."""

    url: str
    proxy: Proxy


@contextmanager
def ways_to_servers() -> Iterator[Proxy]:
    """Ways of this test's own, since other tests need the servers meanwhile."""
    proxy = Proxy()
    for name, variable in VARIABLES.items():
        target_port = urlsplit(environment()[variable]).port
        assert target_port
        proxy.add(name, port=free_port(), target_port=target_port)
    yield proxy
    proxy.stop()


@contextmanager
def frozen(proxy: Proxy, name: str) -> Iterator[None]:
    proxy.switch(Mode.STALL, name)
    try:
        yield
    finally:
        proxy.switch(Mode.PASS, name)


def through(proxy: Proxy, *names: str) -> dict[str, str]:
    """The addresses of these servers by the proxy, by their variables."""
    found = {}
    for name in names:
        address = urlsplit(environment()[VARIABLES[name]])
        netloc = address.netloc.rpartition("@")[0] + f"@127.0.0.1:{proxy.port(name)}"
        found[VARIABLES[name]] = address._replace(netloc=netloc).geturl()
    return found


@pytest.fixture(scope="module")
def shop(django_db_setup: None) -> Iterator[Shop]:
    """It comes up while the reservation store is silent, as after a power failure."""
    with ways_to_servers() as proxy, ExitStack() as running:
        with frozen(proxy, "reservation_store"):
            web = live_processes(names=("web",), probe="/healthz", **through(proxy, *VARIABLES))
            url, _processes = running.enter_context(web)
            assert status_of(f"{url}/products/") == 200
        wait_until(lambda: status_of(f"{url}/readyz") == 200, seconds_max=30)
        yield Shop(url, proxy)


def call(url: str, path: str, **more: str) -> tuple[int, float]:
    """Status and seconds; 0 if no answer came within GIVE_UP_SECONDS."""
    try:
        answer = ask(url, path, GIVE_UP_SECONDS, **more)
    except OSError:
        return 0, GIVE_UP_SECONDS
    return answer.status, answer.seconds


@contextmanager
def pages_asked_for(url: str, *, threads: int) -> Iterator[None]:
    """What other people do meanwhile: they ask for what needs PostgreSQL."""
    stop = Event()

    def visit() -> None:
        while not stop.wait(0.25):
            call(url, "/api/v1/sales/")

    with ThreadPoolExecutor(threads) as people:
        for _ in range(threads):
            people.submit(visit)
        try:
            yield
        finally:
            stop.set()


def test_reservations_go_on_while_postgresql_is_frozen(
    product: Product, pass_for: Callable[..., str], shop: Shop
) -> None:
    item = make_item(product, quantity=1000)
    passes = [pass_for(buyer, item) for buyer in new_buyers(150)]
    assert call(shop.url, "/")[0] == 200
    # PostgreSQL tells the items of the sale.
    assert call(shop.url, f"/api/v1/sales/{item.sale_id}/live/")[0] == 200
    with pages_asked_for(shop.url, threads=40), frozen(shop.proxy, "database"):
        time.sleep(1)
        reserved, others = reserve_until(time.monotonic() + FROZEN_SECONDS, shop.url, item, passes)
        others["/"] = [call(shop.url, "/") for _ in range(20)]
    assert [status for status, _seconds in reserved] == [201] * len(reserved)
    assert len(reserved) > 50
    slowest = {name: max(seconds for _status, seconds in answers) for name, answers in others.items()}
    statuses = {name: {status for status, _seconds in answers} for name, answers in others.items()}
    assert statuses == dict.fromkeys(others, {200})
    # Milliseconds on an idle machine. What waits for PostgreSQL gets no answer within GIVE_UP_SECONDS.
    assert max(*slowest.values(), *(seconds for _status, seconds in reserved)) < GIVE_UP_SECONDS / 2


def test_operators_see_which_server_is_frozen(shop: Shop) -> None:
    # More people than there are threads for pages.
    with pages_asked_for(shop.url, threads=12):
        for name in VARIABLES:
            wait_until(lambda: all(sources_up(shop.url).values()), seconds_max=30)
            with frozen(shop.proxy, name):
                time.sleep(1)
                for _ in range(2):
                    assert sources_up(shop.url) == {source: source != name for source in SOURCES}
                    status, seconds = call(shop.url, "/readyz")
                    assert status == 503, name
                    assert seconds < GIVE_UP_SECONDS / 2, name
                    assert call(shop.url, "/healthz")[0] == 200, name


def sources_up(url: str) -> dict[str, float]:
    """What /metrics says of the servers, within some two seconds, and more on a busy machine."""
    answer = ask(url, "/metrics", GIVE_UP_SECONDS)
    assert answer.seconds < GIVE_UP_SECONDS / 2
    text = answer.body.decode()
    assert ("stampede_orders_overdue" in text) == ('up{source="database"} 1' in text)
    return {source: float(text.partition(f'up{{source="{source}"}} ')[2].partition("\n")[0]) for source in SOURCES}


def reserve_until(
    until_s: float, url: str, item: SaleItem, passes: list[str]
) -> tuple[list[tuple[int, float]], dict[str, list[tuple[int, float]]]]:
    """Reserve with one pass after the other, and ask for health and live figures."""
    reserved, others = [], dict[str, list[tuple[int, float]]]()
    reservations = f"/api/v1/sale-items/{item.pk}/reservations/"
    for pass_text in passes:
        if time.monotonic() > until_s:
            break
        reserved.append(call(url, reservations, method="POST", authorization=f"Pass {pass_text}"))
        for path in ("/healthz", f"/api/v1/sale-items/{item.pk}/live/", f"/api/v1/sales/{item.sale_id}/live/"):
            others.setdefault(path, []).append(call(url, path))
        time.sleep(0.15)
    return reserved, others
