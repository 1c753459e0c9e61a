"""The networks of buyers are noted where passes and entries are given, without their addresses."""

import time

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from seckill.guards import buyer_networks
from seckill.guards.buyer_networks import mark_of, networks_of
from seckill.models import SaleItem
from shop.models import Product
from tests.steps.buying import signed_in
from tests.steps.drawing import make_draw
from tests.steps.guarding import told_of_pass
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db


def written(item: SaleItem, *buyers: User) -> list[str | None]:
    buyer_networks.buyer_networks.write()
    return networks_of(sale_id=item.sale_id, buyer_ids=[buyer.pk for buyer in buyers])


def test_neighbours_have_one_mark_and_each_sale_its_own() -> None:
    assert mark_of(1, "192.0.2.1") == mark_of(1, "192.0.2.99")
    assert len({mark_of(1, "192.0.2.1"), mark_of(1, "192.0.3.1"), mark_of(2, "192.0.2.1")}) == 3
    assert mark_of(1, "2001:db8::/64") != mark_of(1, "2001:db8:0:1::/64")


def test_a_pass_leaves_a_mark_until_the_report_is_kept(item: SaleItem, buyer: User, rival: User) -> None:
    assert told_of_pass(item, buyer, address="192.0.2.1") == "pass"
    assert written(item, buyer, rival) == [mark_of(item.sale_id, "192.0.2.1"), None]
    # The last one counts.
    assert told_of_pass(item, buyer, address="2001:db8::7") == "pass"
    assert written(item, buyer) == [mark_of(item.sale_id, "2001:db8::/64")]
    ends_s = (item.sale.last_hold_ends_at + buyer_networks.KEPT_FOR).timestamp()
    left_s = buyer_networks.connection().ttl(buyer_networks.key(item.sale_id))
    assert left_s == pytest.approx(ends_s - time.time(), abs=5)


def test_so_does_an_entry_in_a_draw(product: Product, buyer: User) -> None:
    item = make_draw(product, quantity=1)
    assert signed_in(buyer).post(f"/api/v1/sale-items/{item.pk}/entries/", {"units": 1}).status_code == 201
    assert written(item, buyer) == [mark_of(item.sale_id, "127.0.0.1")]


def test_a_cache_server_that_is_away_costs_nobody_a_pass(item: SaleItem, buyer: User, settings: LazySettings) -> None:
    assert told_of_pass(item, buyer) == "pass"
    former = store_away(settings, "default")
    buyer_networks.buyer_networks.write()
    settings.CACHES = former
    assert written(item, buyer) == [None]
