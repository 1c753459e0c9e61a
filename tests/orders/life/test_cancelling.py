"""A buyer who cancels again and again meets a cooldown; nobody else does, and a cache that is away lets nobody off."""

from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from orders.models import Order, OrderStatus
from seckill.models import SaleItem
from tests.steps.buying import order_of, signed_in, status_of
from tests.steps.paying import press_cancel
from tests.steps.shop import other_item
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _twice_at_most(settings: LazySettings) -> None:
    settings.CANCEL_LIMIT = "2/10minutes"


def cancel(order: Order, buyer: User) -> Any:
    return press_cancel(signed_in(buyer), order.number, str(uuid4()))


def cancel_often(item: SaleItem, buyer: User, *, times: int) -> None:
    for _ in range(times):
        assert cancel(order_of(item, buyer), buyer).status_code == 200


def test_a_buyer_who_cancels_again_and_again_has_to_wait(item: SaleItem, buyer: User, as_buyer: Client) -> None:
    cancel_often(item, buyer, times=5)
    order = order_of(item, buyer)
    answer = cancel(order, buyer)
    assert answer.status_code == 429
    assert answer["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem["code"] == "cancelled_too_often"
    assert 590 <= problem["retry_after"] <= 600
    assert answer["Retry-After"] == str(problem["retry_after"])
    assert "You can cancel again in " in problem["detail"]
    # The page says how long, and what to do.
    page = as_buyer.post(f"/orders/{order.number}/cancel/", follow=True).content.decode()
    assert "You can cancel again in 10 minutes" in page or "You can cancel again in 9 minutes" in page
    assert "an order that is not paid ends at its payment deadline" in page
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT


@pytest.mark.usefixtures("_twice_at_most")
def test_other_buyers_other_items_and_repeated_calls_are_not_meant(item: SaleItem, buyer: User, rival: User) -> None:
    order = order_of(item, buyer)
    for _ in range(3):
        assert cancel(order, buyer).status_code == 200
    cancel_often(item, buyer, times=1)
    assert cancel(order_of(item, buyer), buyer).status_code == 429
    cancel_often(other_item(), buyer, times=1)
    cancel_often(item, rival, times=1)


@pytest.mark.usefixtures("_twice_at_most")
def test_while_the_cache_is_away_each_process_counts(
    item: SaleItem, buyer: User, settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    cancel_often(item, buyer, times=2)
    store_away(settings, "default")
    cancel_often(item, buyer, times=2)
    assert cancel(order_of(item, buyer), buyer).status_code == 429
    assert "limits_not_counted" in caplog.text
