"""Items that were verified with another PostgreSQL server are unavailable until they are reconciled."""

from collections.abc import Iterator
from unittest import mock

import pytest
from django.contrib.auth.models import User

from orders import tasks
from orders.repair import store_watch
from orders.repair.reconcile import reconcile
from seckill.items import item_state
from seckill.items.item_state import Condition
from seckill.models import SaleItem
from shop.databases import timeline
from shop.databases.timeline import database_timeline
from shop.models import Product
from tests.steps.shop import make_item, other_item

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = "7000000000000000000/9"


@pytest.fixture
def others(product: Product) -> list[SaleItem]:
    return [make_item(product), other_item()]


def conditions(items: list[SaleItem]) -> set[Condition]:
    found = item_state.conditions(item_ids=[item.pk for item in items], timeline=database_timeline())
    return set(found.values())


def verify_with(items: list[SaleItem], noted: str) -> None:
    for item in items:
        incarnation = item_state.incarnation(item_id=item.pk)
        item_state.mark_verified(item_id=item.pk, incarnation=incarnation, timeline=noted)


def test_a_published_item_has_the_timeline_of_its_orders(others: list[SaleItem]) -> None:
    assert item_state.terms(item_id=others[0].pk)["timeline"] == database_timeline()
    assert conditions(others) == {Condition.VERIFIED}
    assert tasks.watch_store() == 0


def test_no_item_goes_on_selling_while_the_first_is_reconciled(others: list[SaleItem]) -> None:
    verify_with(others, OTHER)
    assert conditions(others) == {Condition.OUTDATED}
    seen = []

    def look(item_id: int) -> None:
        seen.append(conditions(others))

    with mock.patch.object(store_watch, "reconcile_if_free", side_effect=look):
        tasks.watch_store()
    assert seen[0] == {Condition.UNVERIFIED}
    assert tasks.watch_store() == 2
    assert conditions(others) == {Condition.VERIFIED}
    assert tasks.watch_store() == 0


def test_an_item_that_the_release_before_has_verified_counts_as_equal(others: list[SaleItem], store: object) -> None:
    for item in others:
        store.hdel(f"seckill:{{{item.pk}}}:item", "timeline")  # type: ignore[attr-defined]
    assert tasks.watch_store() == 0
    reconcile(item_id=others[0].pk)
    assert item_state.terms(item_id=others[0].pk)["timeline"] == database_timeline()


def test_a_server_that_does_not_tell_its_timeline_makes_no_item_outdated(others: list[SaleItem]) -> None:
    verify_with(others, OTHER)
    with mock.patch.object(timeline, "FIND_TIMELINE", "SELECT no_such_function()"):
        assert database_timeline() == ""
        assert tasks.watch_store() == 0
    assert item_state.terms(item_id=others[0].pk)["timeline"] == OTHER


def test_a_reconcile_that_lost_its_lock_verifies_nothing(others: list[SaleItem], buyer: User) -> None:
    """Another process may have begun to rebuild the item meanwhile."""
    item_state.mark_unverified(item_id=others[0].pk)
    held = "seckill.items.lock.FIND_LOCK"
    with mock.patch(held, "SELECT false, %s"), mock.patch.object(store_watch, "log"):
        tasks.watch_store()
    assert Condition.UNVERIFIED in conditions(others)
    assert tasks.watch_store() == 1
    assert conditions(others) == {Condition.VERIFIED}


@pytest.fixture(autouse=True)
def _forget_what_was_logged() -> Iterator[None]:
    """Loops log an item once."""
    with mock.patch("seckill.items.loop._logged", {}):
        yield
