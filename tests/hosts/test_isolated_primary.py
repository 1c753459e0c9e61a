"""Two web hosts and a proxy, each in a network namespace, of which one is cut off, while a yes must be on a replica.

A host that does not reach the store says so, and the other one sells. A host that is isolated with the primary still
reaches it, and must not say yes: the others promote the replica, which knows nothing of it. They say yes again when
the new primary has a replica.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pytest_django import Settings

from orders.models import Order
from orders.repair.audit import audit
from shop.models import Product
from tests.hosts.private_network import need_network, private_network
from tests.hosts.spread_store import SpreadStore
from tests.hosts.web_hosts import PORT, YES_ON_A_REPLICA, Buyer, shop_on
from tests.own_store import as_reservation_store, running_replicated
from tests.processes import wait_until
from tests.seckill.store.items import reconciled
from tests.steps.buying import drained, new_buyers
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db(transaction=True)

UNITS = 50
BUYERS = 70
RECOVERY_SECONDS_MAX = 60.0


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


def test_no_yes_is_lost_where_a_host_is_cut_off_from_the_store_or_isolated_with_its_primary(
    server_directory: Path, product: Product, pass_for: Callable[..., str], settings: Settings
) -> None:
    need_network()
    settings.SECKILL_YES_REPLICAS, settings.SECKILL_YES_WAIT_MS = 1, 300
    with (
        private_network("first", "second", "proxy") as network,
        running_replicated(SpreadStore, network=network, places={"store-1": "first"}, replicas_min=1) as store,
        as_reservation_store(store),
    ):
        primary = store.primary()
        item = make_item(product, quantity=UNITS)
        passes = [pass_for(buyer, item) for buyer in new_buyers(BUYERS)]
        told: dict[str, str] = {}
        with shop_on(network, server_directory, SECKILL_REDIS_URL=store.url, **YES_ON_A_REPLICA):
            first, second, proxy = (Buyer(network.addresses[name], item) for name in ("first", "second", "proxy"))
            # Given buyers who were told yes by both hosts, and by the proxy,
            for text, buyer in zip(passes, (first, second, proxy) * 2, strict=False):
                told[text] = buyer.reserve(text)

            # when a host does not reach the store,
            with crowd(proxy, passes[6:30], told), network.cut("second", port=primary.port):
                # then it says so, and the same pass is good at the other one.
                assert {second.reserve(passes[30]) for _ in range(20)} == {"unavailable"}
                told[passes[30]] = first.reserve(passes[30])
                assert second.reserve(passes[30]) == "unavailable"
            # Buyers at the proxy were told yes all the time.
            assert set(told.values()) == {"yes"}
            wait_until(lambda: second.reserve(passes[30]) == "yes", seconds_max=10)

            # When the host of the primary is alone,
            with network.isolate("first", but_port=PORT):
                # then it still reaches the primary, and yet says yes to nobody, old or new.
                asked = (*passes[:3], *passes[31:37])
                assert [first.reserve(text) for text in asked] == ["unavailable"] * len(asked)
                # The replica is promoted, but has no replica itself.
                wait_until(lambda: store.has_replaced(primary), seconds_max=RECOVERY_SECONDS_MAX)
                assert [second.reserve(text) for text in asked] == ["unavailable"] * len(asked)
                assert [first.reserve(text) for text in asked] == ["unavailable"] * len(asked)

            # When it is back, it is a replica, and without what it was told alone.
            wait_until(lambda: primary.follows(store.primary()), seconds_max=RECOVERY_SECONDS_MAX)
            wait_until(lambda: reconciled(item), seconds_max=RECOVERY_SECONDS_MAX)
            wait_until(lambda: first.reserve(passes[0]) == "yes", seconds_max=RECOVERY_SECONDS_MAX)
            # Buyers who were told yes hear it again, and the others are told the same by every host.
            again = {text: {buyer.reserve(text) for buyer in (first, second, proxy)} for text in passes}
            assert all(again[text] == {"yes"} for text in told)

        assert list(again.values()).count({"yes"}) == UNITS
        assert list(again.values()).count({"held_by_others"}) == BUYERS - UNITS
        assert left_held_sold(item) == (0, UNITS, 0)
        drained(item)
        assert Order.objects.count() == UNITS
        assert audit(item_id=item.pk).comparison.problem_count == 0
