"""A reservation store behind Sentinel: after a failover the shop finds the new primary by itself."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from orders import tasks
from orders.repair.audit import audit
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store import durability
from shop.local.stores.sentinel_store import SentinelStore
from tests.own_store import as_reservation_store
from tests.processes import wait_until
from tests.seckill.store.items import reconciled, sale_of, told
from tests.steps.shop import make_item, make_product
from tests.steps.staff import confirm_and_publish, messages_on

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def item(sentinel_store: SentinelStore) -> Iterator[SaleItem]:
    # A primary that another test has killed is a replica now, and may still be copying.
    sentinel_store.await_settled()
    with as_reservation_store(sentinel_store):
        yield sale_of(1)[0]


def test_a_yes_that_waits_for_no_replica_is_a_warning_where_a_primary_may_go_on_alone(
    sentinel_store: SentinelStore, item: SaleItem, settings: Settings, as_manager: Client
) -> None:
    wait_until(lambda: durability.weaknesses_of_store() == [], seconds_max=30)
    replica = sentinel_store.replica_of(sentinel_store.primary())
    replica.ask("CONFIG", "SET", "appendonly", "no")
    try:
        (weakness,) = durability.weaknesses_of_store()
    finally:
        replica.ask("CONFIG", "SET", "appendonly", "yes")
    assert (weakness.setting, weakness.node) == ("appendonly", f"127.0.0.1:{replica.port}"), "it is checked too"
    [advice] = durability.advice()
    assert "min-replicas-to-write 1" in advice
    # It refuses no sale, and whoever opens one is told.
    assert durability.weaknesses_of_store() == []
    assert [warning.id for warning in durability.check_durability()] == ["seckill.W002"]
    draft = make_item(make_product(slug="draft", price_minor=9900), published=False)
    answer = confirm_and_publish(as_manager, draft.sale)
    assert advice in messages_on(answer)

    for node in sentinel_store.nodes:
        node.ask("CONFIG", "SET", "min-replicas-to-write", "1")
    assert durability.advice() == []
    for node in sentinel_store.nodes:
        node.ask("CONFIG", "SET", "min-replicas-to-write", "0")
    settings.SECKILL_YES_REPLICAS = 1
    assert durability.advice() == []


def test_a_failover_that_an_operator_asks_for_loses_nothing(
    sentinel_store: SentinelStore, item: SaleItem, buyer: User
) -> None:
    """The former primary lives on: its connections are left, and a write to it is refused."""
    kept = passes.new_reservation_id(item.pk)
    assert told(item, reservation_id=kept, buyer_id=buyer.pk) == Outcome.RESERVED
    tasks.sweep_outboxes()
    former = sentinel_store.primary()
    sentinel_store.watchers[0].ask("SENTINEL", "FAILOVER", "stampede")
    wait_until(lambda: sentinel_store.primary() is not former, seconds_max=60)
    # Until then it says yes over connections from before, and forgets it.
    wait_until(lambda: former.follows(sentinel_store.primary()), seconds_max=60)

    def hears_the_yes() -> bool:
        # From a thread and from an event loop, whose first calls meet the former primary. Buyers ask again.
        answers = {told(item, reservation_id=kept, buyer_id=buyer.pk) for _ in range(2)}
        assert answers <= {Outcome.ALREADY_RESERVED, Outcome.UNAVAILABLE}
        return answers == {Outcome.ALREADY_RESERVED}

    wait_until(lambda: reconciled(item) and hears_the_yes(), seconds_max=60)
    assert told(item) == Outcome.RESERVED
    tasks.sweep_outboxes()
    assert audit(item_id=item.pk, patience_seconds=3).comparison.problem_count == 0
