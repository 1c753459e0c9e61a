"""The primary of the store is isolated together with a web host, while a yes must be on a replica too.

The host still reaches its primary, and must not say yes: the others promote the replica, which knows nothing of it.
They say yes again when the new primary has a replica.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from shop.models import Product
from tests.hosts.private_network import need_network, private_network
from tests.hosts.spread_store import SpreadStore
from tests.hosts.web_hosts import PORT, Buyer, assert_all_sold, shop_on
from tests.own_store import as_reservation_store, running_replicated
from tests.processes import wait_until
from tests.seckill.store.items import reconciled
from tests.steps.buying import new_buyers
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

UNITS = 40
BUYERS = 60
RECOVERY_SECONDS_MAX = 60.0


def test_a_primary_isolated_with_a_web_host_confirms_nothing_and_no_yes_is_lost(
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
        environment = {"SECKILL_REDIS_URL": store.url, "SECKILL_YES_REPLICAS": "1", "SECKILL_YES_WAIT_MS": "300"}
        with shop_on(network, server_directory, **environment):
            first, second = (Buyer(network.addresses[name], item) for name in ("first", "second"))
            # Given buyers who were told yes by both hosts,
            for index, text in enumerate(passes[:10]):
                told[text] = (first, second)[index % 2].reserve(text)
            assert set(told.values()) == {"yes"}

            # when the host of the primary is alone,
            with network.isolate("first", but_port=PORT):
                # then it still reaches the primary, and yet says yes to nobody, old or new.
                asked = (*passes[:3], *passes[10:16])
                assert [first.reserve(text) for text in asked] == ["unavailable"] * len(asked)
                # The replica is promoted, but has no replica itself.
                wait_until(lambda: store.has_replaced(primary), seconds_max=RECOVERY_SECONDS_MAX)
                assert [second.reserve(text) for text in asked] == ["unavailable"] * len(asked)
                assert [first.reserve(text) for text in asked] == ["unavailable"] * len(asked)

            # When it is back, it is a replica, and without what it was told alone.
            wait_until(lambda: primary.follows(store.primary()), seconds_max=RECOVERY_SECONDS_MAX)
            wait_until(lambda: reconciled(item), seconds_max=RECOVERY_SECONDS_MAX)
            wait_until(lambda: first.reserve(passes[0]) == "yes", seconds_max=RECOVERY_SECONDS_MAX)
            for index, text in enumerate(passes):
                told[text] = (first, second)[index % 2].reserve(text)

        assert [told[text] for text in passes[:10]] == ["yes"] * 10
        assert_all_sold(item, told, units=UNITS)
