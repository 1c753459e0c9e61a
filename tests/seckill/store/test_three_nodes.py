"""Three servers of the store and one confirmation: any one may be lost, every yes is kept, and the sale goes on."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from bench.faults.replicas.shop_kind import ThreeNodes
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store import durability
from seckill.store.keys import keys_of
from shop.local.stores.store_node import HOST, StoreNode
from tests.own_store import as_reservation_store, running_replicated
from tests.processes import wait_until
from tests.seckill.store.items import reconciled, sale_of, told

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def servers() -> Iterator[ThreeNodes]:
    with running_replicated(ThreeNodes, replicas_min=1) as running:
        yield running


@pytest.fixture
def store(servers: ThreeNodes, settings: Settings) -> Iterator[ThreeNodes]:
    settings.SECKILL_YES_REPLICAS = 1
    settings.SECKILL_YES_WAIT_MS = 500
    servers.await_settled()
    with as_reservation_store(servers):
        yield servers


def test_one_confirmation_of_two_is_enough_where_the_sentinels_can_choose(store: ThreeNodes) -> None:
    assert durability.weaknesses_of_store() == []
    store.nodes[-1].ask("CONFIG", "SET", "replica-priority", "50")
    for sentinel in store.watchers:
        sentinel.ask("SENTINEL", "SET", "stampede", "down-after-milliseconds", "2000")
    found = {(weakness.setting, weakness.value) for weakness in durability.weaknesses_of_store()}
    assert found == {("replica-priority", "100, 50"), ("down-after-milliseconds", "2000")}
    store.nodes[-1].ask("CONFIG", "SET", "replica-priority", "100")
    for sentinel in store.watchers:
        sentinel.ask("SENTINEL", "SET", "stampede", "down-after-milliseconds", str(store.down_after_ms))


def test_the_replica_that_has_every_yes_takes_over_and_the_sale_goes_on(store: ThreeNodes, buyer: User) -> None:
    [item] = sale_of(1)
    primary = store.primary()
    has_all, lags = (node for node in store.nodes if node is not primary)

    # Given a replica that is cut off, and buyers whose yes the other one alone has
    lags.ask("REPLICAOF", HOST, "1")
    buyers = User.objects.bulk_create([User(username=f"kept-{number}") for number in range(3)])
    promised = {one.pk: passes.new_reservation_id(item.pk) for one in buyers}
    for pk, reservation_id in promised.items():
        assert told(item, reservation_id=reservation_id, buyer_id=pk) == Outcome.RESERVED
    assert not names_of(lags, item) & {str(one) for one in promised.values()}

    # When the primary is lost
    store.kill(primary)
    wait_until(lambda: store.has_replaced(primary), seconds_max=90)

    # Then the one that has them takes over
    assert store.primary() is has_all
    assert {str(one) for one in promised.values()} <= names_of(has_all, item)

    # And two servers of three sell: a new yes waits for the third
    wait_until(lambda: lags.follows(has_all) and lags.is_in_sync(), seconds_max=60)
    wait_until(lambda: reconciled(item), seconds_max=60)
    wait_until(lambda: told(item) == Outcome.RESERVED, seconds_max=30)
    for pk, reservation_id in promised.items():
        assert told(item, reservation_id=reservation_id, buyer_id=pk) == Outcome.ALREADY_RESERVED


def names_of(node: StoreNode, item: SaleItem) -> set[str]:
    return {name.decode() for name in node.ask("HKEYS", keys_of(item.pk).holds) or []}
