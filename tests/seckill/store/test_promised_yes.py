"""With SECKILL_YES_REPLICAS a buyer hears yes only when a replica has it: it survives the loss of the primary."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django_redis import get_redis_connection
from pytest_django import Settings
from redis.exceptions import ResponseError, TimeoutError

from orders import tasks
from orders.api.reservation_status import find_status
from orders.life import lifecycle
from orders.repair.audit import audit
from seckill import ledger
from seckill.changes.replica_choice import choose
from seckill.items import holdings
from seckill.ledger_words import Joined
from seckill.line import line_ledger
from seckill.models import Sale, SaleChange, SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.publication import CannotPublish
from seckill.store import durability
from seckill.store.barrier import PinnedConnection
from seckill.store.client import StoreUnreachable
from seckill.store.failures import Cause
from seckill.store.keys import keys_of
from seckill.store.weak_settings import judge_settings, weak_servers
from seckill.store.yes_replicas import publish
from shop.local.stores.sentinel_store import SentinelStore
from shop.local.stores.store_node import StoreNode
from tests.own_store import as_reservation_store
from tests.processes import wait_until
from tests.seckill.store.items import reconciled, sale_of, told
from tests.steps.buying import order_of
from tests.steps.pipelines import frozen
from tests.steps.staff import change
from tests.steps.waiting import join

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def item(sentinel_store: SentinelStore, settings: Settings) -> Iterator[SaleItem]:
    """Each yes waits for the one replica."""
    sentinel_store.await_settled()
    for node in sentinel_store.nodes:
        node.ask("CONFIG", "SET", "min-replicas-to-write", "1")
    settings.SECKILL_YES_REPLICAS = 1
    settings.SECKILL_YES_WAIT_MS = 300
    with as_reservation_store(sentinel_store):
        yield sale_of(1)[0]
    for node in sentinel_store.nodes:
        node.ask("CONFIG", "SET", "min-replicas-to-write", "0")


@pytest.fixture
def chosen_0(item: SaleItem) -> Iterator[None]:
    """Staff have chosen that a yes waits for none."""
    choose(replicas=0, reason="replica lost")
    yield
    publish(None)


@contextmanager
def frozen_replica(store: SentinelStore) -> Iterator[None]:
    """It is connected, so the primary accepts writes for some seconds, but it confirms nothing."""
    replica = store.replica_of(store.primary())
    try:
        with frozen(replica):
            yield
    finally:
        wait_until(replica.is_in_sync, seconds_max=30)


def lost_primary(store: SentinelStore) -> StoreNode:
    """It is killed, and the replica takes over."""
    primary = store.primary()
    store.kill(primary)
    wait_until(lambda: store.primary() is not primary, seconds_max=60)
    return primary


def test_a_connection_on_which_an_answer_may_still_come_is_closed() -> None:
    for error, closed in ((TimeoutError("silent"), True), (ResponseError("refused"), False)):
        pool = Mock()
        with pytest.raises(type(error)), PinnedConnection(Mock(connection_pool=pool)):
            raise error
        connection = pool.get_connection.return_value
        assert connection.disconnect.called == closed
        pool.release.assert_called_once_with(connection)


def test_while_no_replica_confirms_only_refusals_are_told(
    sentinel_store: SentinelStore, item: SaleItem, buyer: User, rival: User, stranger: User
) -> None:
    line_ledger.open_line(item_id=item.pk)
    assert told(item, buyer_id=rival.pk) == told(item, buyer_id=rival.pk) == Outcome.RESERVED
    reservation_id, place_id = passes.new_reservation_id(item.pk), passes.new_reservation_id(item.pk)
    asked: dict[str, Any] = {"reservation_id": reservation_id, "buyer_id": buyer.pk}
    place: dict[str, Any] = {"item_id": item.pk, "reservation_id": place_id, "buyer_id": stranger.pk, "units": 1}
    with frozen_replica(sentinel_store):
        assert told(item, **asked) == Outcome.UNAVAILABLE
        with pytest.raises(StoreUnreachable) as raised:
            ledger.reserve(item_id=item.pk, units=1, **asked)
        assert raised.value.cause is Cause.REPLICAS
        # The first connection has written; WAIT on the second would count nothing and return at once.
        with PinnedConnection(get_redis_connection("seckill")):
            # A connection of threads is taken, so these calls get others: a new one, and that of the event loop.
            for _ in range(2):
                assert told(item, **asked) == Outcome.UNAVAILABLE
        # A status of `reserved` is a yes too.
        with pytest.raises(StoreUnreachable):
            find_status(buyer_id=buyer.pk, reservation_id=reservation_id)
        # A refusal promises nothing.
        assert told(item, buyer_id=rival.pk) == Outcome.LIMIT_REACHED
        # Nor is a place in the line given.
        ledger.adjust(item_id=item.pk, operation_id=uuid4(), adjustment=ledger.Adjustment(units=-47))
        for _ in range(2):
            with pytest.raises(StoreUnreachable) as raised:
                line_ledger.join_line(**place)
            assert raised.value.cause is Cause.REPLICAS
    # The hold and the place were there all the time, and the same passes hear their yes now.
    status = find_status(buyer_id=buyer.pk, reservation_id=reservation_id)
    assert status is not None
    assert status["status"] == "reserved"
    assert told(item, **asked) == Outcome.ALREADY_RESERVED
    assert line_ledger.join_line(**place).word is Joined.ALREADY_WAITING


def test_after_the_loss_of_the_primary_each_yes_is_there_and_the_line_goes_on(
    sentinel_store: SentinelStore, item: SaleItem, buyer: User
) -> None:
    # Given buyers who were told yes, and people who wait for what one of them has
    Sale.objects.filter(pk=item.sale_id).update(waiting_list=True)
    line_ledger.open_line(item_id=item.pk)
    order = order_of(item, buyer, units=2)
    buyers = User.objects.bulk_create([User(username=f"kept-{number}") for number in range(30)])
    promised = {buyer.pk: passes.new_reservation_id(item.pk) for buyer in buyers}
    for pk, reservation_id in promised.items():
        assert told(item, reservation_id=reservation_id, buyer_id=pk) == Outcome.RESERVED
    tasks.sweep_outboxes()
    change(item, SaleChange.Kind.WITHDRAW_UNITS, units=18)
    people = User.objects.bulk_create([User(username=f"waits-{number}") for number in range(5)])
    places = [join(item, person) for person in people]
    # When the primary is lost
    primary = lost_primary(sentinel_store)
    with sentinel_store.primary().client() as client:
        names = {name.decode() for name in client.hkeys(keys_of(item.pk).holds)}
    sentinel_store.restart(primary)
    # Then the replica has all of them
    assert {str(reservation_id) for reservation_id in promised.values()} <= names
    # Until it is a replica again, a yes has nobody to wait for.
    sentinel_store.await_settled()
    wait_until(lambda: reconciled(item), seconds_max=60)

    def hear_their_yes() -> bool:
        answers = [told(item, reservation_id=hold, buyer_id=pk) for pk, hold in promised.items()]
        # A replica on a busy machine confirms late, and buyers ask again.
        assert {*answers} <= {Outcome.ALREADY_RESERVED, Outcome.UNAVAILABLE}
        return {*answers} == {Outcome.ALREADY_RESERVED}

    wait_until(hear_their_yes, seconds_max=60)
    found = [line_ledger.find_place(item_id=item.pk, buyer_id=person.pk) for person in people]
    assert [place and (place.reservation_id, place.ahead) for place in found] == [
        (pk, n) for n, pk in enumerate(places)
    ]
    lifecycle.cancel(order_id=order.pk)
    wait_until(lambda: holdings.find_hold(item_id=item.pk, reservation_id=places[1]) is not None, seconds_max=60)
    assert line_ledger.count_waiting(item_ids=[item.pk]) == {item.pk: 3}
    assert audit(item_id=item.pk, patience_seconds=3).comparison.problem_count == 0


def test_a_store_without_enough_replicas_opens_no_sale(
    sentinel_store: SentinelStore, item: SaleItem, settings: Settings
) -> None:
    assert durability.weaknesses_of_store() == []
    settings.SECKILL_YES_REPLICAS = 2
    found = {(weakness.setting, weakness.value) for weakness in durability.weaknesses_of_store()}
    assert found == {("min-replicas-to-write", "1"), ("replicas", "1")}
    with pytest.raises(CannotPublish, match="SECKILL_YES_REPLICAS"):
        sale_of(1)


def test_a_choice_of_fewer_replicas_is_warned_of_while_it_is_in_force(
    sentinel_store: SentinelStore, item: SaleItem, chosen_0: None
) -> None:
    # Given a replica that is lost, and a primary that refuses writes without it
    replica = sentinel_store.replica_of(sentinel_store.primary())
    sentinel_store.kill(replica)
    wait_until(lambda: [found.value for found in durability.weaknesses_of_store()] == ["1"], seconds_max=30)
    assert told(item) == Outcome.UNAVAILABLE
    for node in sentinel_store.nodes:
        if node is not replica:
            node.ask("CONFIG", "SET", "min-replicas-to-write", "0")

    # Then the sale goes on, and a manager is told of the choice
    assert durability.weaknesses_of_store() == []
    assert told(item) == Outcome.RESERVED
    [advice] = durability.advice()
    assert "as staff have chosen, and not for 1" in advice
    judge_settings()
    assert weak_servers()["replicas"] == 0

    # When the replica is back, then it is time to take the choice back
    sentinel_store.restart(replica)
    wait_until(lambda: "connected again" in durability.advice()[0], seconds_max=60)
    judge_settings()
    assert weak_servers()["replicas"] == 1
    choose(replicas=None, reason="replica is back")
    assert durability.advice() == []
