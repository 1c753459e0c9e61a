"""Draining: the first order is never late, batches fill under load, and one process at a time drains an item."""

import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from django.conf import LazySettings
from django.core.cache import cache

from orders import tasks
from orders.life import intake
from orders.models import Order
from seckill.models import SaleItem
from seckill.outbox import lease
from shop.models import Product
from tests.processes import wait_until
from tests.steps.at_once import at_once
from tests.steps.buying import reserve_often
from tests.steps.shop import make_item, other_item
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def item(product: Product) -> SaleItem:
    return make_item(product, quantity=None)


def pause_by(monkeypatch: pytest.MonkeyPatch, sleep: Callable[[float], None]) -> None:
    """What the tasks do at a pause. Other threads of the process go on sleeping."""
    monkeypatch.setattr(tasks, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many orders there were at each pause between batches, none of which takes any time."""
    orders: list[int] = []
    pause_by(monkeypatch, lambda seconds: orders.append(Order.objects.count()))
    return orders


def test_a_lone_reservation_is_an_order_before_anything_waits(item: SaleItem, pauses: list[int]) -> None:
    reserve_often(item)
    assert tasks.drain_outbox(item_id=item.pk) == 1
    assert pauses == [1]


def test_entries_that_come_during_a_pause_become_one_batch(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    coming = [5, 4]

    def sleep(seconds: float) -> None:
        assert seconds == tasks.GATHER_SECONDS
        if coming:
            reserve_often(item, coming.pop(0))

    pause_by(monkeypatch, sleep)
    reserve_often(item)
    with mock.patch.object(intake, "take_in_batch", wraps=intake.take_in_batch) as batches:
        assert tasks.drain_outbox(item_id=item.pk) == 10
    assert [len(call.kwargs["entries"]) for call in batches.call_args_list if call.kwargs["entries"]] == [1, 5, 4]


def test_full_batches_follow_each_other_without_a_pause(
    item: SaleItem, pauses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "BATCH_MAX", 3)
    monkeypatch.setattr(intake, "drain_once", partial(intake.drain_once, batch_max=3))
    reserve_often(item, 7)
    assert tasks.drain_outbox(item_id=item.pk) == 7
    assert pauses == [7]


def test_a_drain_ends_with_its_time_and_leaves_the_item_to_others(
    item: SaleItem, pauses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "DRAIN_SECONDS", 0.0)
    monkeypatch.setattr(intake, "drain_once", lambda *, item_id: 1)
    assert tasks.drain_outbox(item_id=item.pk) == 2
    assert not lease.is_taken(item.pk)


def test_an_item_that_another_process_drains_is_left_to_it_and_the_others_are_drained_without_a_pause(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    pause_by(monkeypatch, slept.append)
    other = other_item()
    reserve_often(item)
    reserve_often(other)
    assert lease.take(item.pk)
    assert tasks.drain_outbox(item_id=item.pk) == 0
    assert tasks.sweep_outboxes() == 1
    lease.give_back(item.pk)
    assert tasks.sweep_outboxes() == 1
    assert not any(slept)


def test_a_reservation_after_the_last_batch_is_found_although_its_doorbell_was_not_sent(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve_often(item)
    give_back, coming = lease.give_back, [1]

    def give_back_late(item_id: int) -> None:
        if coming:
            reserve_often(item, coming.pop())
            assert lease.is_taken(item_id)
        give_back(item_id)

    monkeypatch.setattr(lease, "give_back", give_back_late)
    assert tasks.drain_outbox(item_id=item.pk) == 2
    assert Order.objects.count() == 2


def test_a_drain_that_fails_gives_its_lease_back(item: SaleItem) -> None:
    with (
        mock.patch.object(intake, "drain_once", side_effect=ValueError("broken")),
        pytest.raises(ValueError, match="broken"),
    ):
        tasks.drain_outbox(item_id=item.pk)
    assert not lease.is_taken(item.pk)


def test_the_lease_of_a_dead_process_ends(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.05)
    assert lease.take(item.pk)
    wait_until(lambda: lease.take(item.pk), seconds_max=10)


def test_a_process_that_works_keeps_its_lease(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve_often(item)
    client: Any = cache
    milliseconds = []

    def sleep(seconds: float) -> None:
        milliseconds.append(client.pttl(lease.key_of(item.pk)))

    def drain_at_length(**arguments: Any) -> None:
        client.pexpire(lease.key_of(item.pk), 500)
        take_in_batch(**arguments)

    take_in_batch = intake.take_in_batch
    pause_by(monkeypatch, sleep)
    monkeypatch.setattr(intake, "take_in_batch", drain_at_length)
    tasks.drain_outbox(item_id=item.pk)
    assert milliseconds[0] > 500


def test_without_the_cache_server_items_are_drained(item: SaleItem, settings: LazySettings) -> None:
    reserve_often(item)
    store_away(settings, "default")
    assert tasks.drain_outbox(item_id=item.pk) == 1


def test_of_many_reservations_each_becomes_an_order_without_a_sweep(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four threads reserve and then ask for a drain, as doorbell and worker do; most find the item taken."""
    monkeypatch.setattr(tasks, "GATHER_SECONDS", 0.0)

    def buy() -> None:
        for _ in range(10):
            reserve_often(item)
            if not lease.is_taken(item.pk):
                tasks.drain_outbox(item_id=item.pk)

    at_once([buy] * 4)
    assert Order.objects.count() == 40
