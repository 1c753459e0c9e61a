"""Two web hosts and a proxy, each in a network namespace: one host is cut off from the store, and the sale goes on."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shop.models import Product
from tests.hosts.private_network import need_network, private_network
from tests.hosts.web_hosts import Buyer, assert_all_sold, shop_on
from tests.own_store import as_reservation_store, running
from tests.processes import wait_until
from tests.steps.buying import new_buyers
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

UNITS = 60
BUYERS = 80


@contextmanager
def crowd(buyer: Buyer, passes: list[str], told: dict[str, str]) -> Iterator[None]:
    """Buyers at the proxy, one after the other, beside what happens in the `with`. All of them are answered."""

    def buy() -> None:
        for text in passes:
            told[text] = buyer.reserve(text)
            time.sleep(0.05)

    thread = threading.Thread(target=buy)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def test_a_host_that_is_cut_off_from_the_store_says_so_while_the_other_sells(
    server_directory: Path, product: Product, pass_for: Callable[..., str]
) -> None:
    need_network()
    with (
        private_network("first", "second", "proxy") as network,
        running(server_directory / "store") as own_store,
        as_reservation_store(own_store),
    ):
        own_store.client.config_set("bind", f"127.0.0.1 {network.address}")
        item = make_item(product, quantity=UNITS)
        passes = [pass_for(buyer, item) for buyer in new_buyers(BUYERS)]
        told: dict[str, str] = {}
        with shop_on(network, server_directory, SECKILL_REDIS_URL=own_store.url):
            first, second, proxy = (Buyer(network.addresses[name], item) for name in ("first", "second", "proxy"))
            for index, buyer in enumerate((first, second, proxy, first, second, proxy)):
                told[passes[index]] = buyer.reserve(passes[index])

            with crowd(proxy, passes[6:46], told), network.cut("first", port=own_store.server.port):
                words = {first.reserve(passes[46]) for _ in range(30)}
                assert words == {"unavailable"}
                # The same pass is good at the other host.
                told[passes[46]] = second.reserve(passes[46])
                assert first.reserve(passes[46]) == "unavailable"
            # Buyers at the proxy were told yes all the time.
            assert set(told.values()) == {"yes"}

            wait_until(lambda: first.reserve(passes[46]) == "yes", seconds_max=10)
            for text in passes[47:]:
                told[text] = first.reserve(text)
            # A buyer who was told yes hears it again, from every host.
            for text in passes[:10]:
                assert {buyer.reserve(text) for buyer in (first, second, proxy)} == {"yes"}

        assert_all_sold(item, told, units=UNITS)
