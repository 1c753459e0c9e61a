"""The metrics of outboxes: how many reservations are not orders yet, and since when."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from orders import tasks
from seckill.models import SaleItem
from seckill.store.keys import keys_of
from tests.steps.buying import reserve
from tests.steps.operating import figure_at
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)


def backlog(client: Client, item: SaleItem) -> float | None:
    return figure_at(client, f'stampede_outbox_backlog{{item="{item.pk}"}}')


def lag_seconds(client: Client, item: SaleItem) -> float | None:
    return figure_at(client, f'stampede_outbox_lag_seconds{{item="{item.pk}"}}')


def test_a_reservation_counts_until_it_is_an_order_while_the_store_answers(
    client: Client, item: SaleItem, buyer: User, settings: LazySettings
) -> None:
    assert backlog(client, item) == 0
    assert lag_seconds(client, item) == 0
    reserve(item, buyer)
    assert backlog(client, item) == 1
    tasks.sweep_outboxes()
    assert backlog(client, item) == 0
    # Without it, the other metrics are shown.
    store_away(settings)
    assert backlog(client, item) is None
    assert figure_at(client, "stampede_orders_overdue") == 0


def test_the_lag_is_the_age_of_the_oldest_entry(client: Client, item: SaleItem, store: Any) -> None:
    seconds, _ = store.time()
    store.xadd(keys_of(item.pk).outbox, {"waits": "for long"}, id=f"{(seconds - 90) * 1000}-0")
    store.xadd(keys_of(item.pk).outbox, {"waits": "not so long"}, id=f"{(seconds - 30) * 1000}-0")
    lag = lag_seconds(client, item)
    assert lag is not None
    assert 90 <= lag < 120
    assert backlog(client, item) == 2
