"""A buyer who cancels again and again meets a cooldown; nobody else does, and a cache that is away lets nobody off."""

from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from orders.models import Order, OrderStatus
from seckill.models import SaleItem
from shop.models import Product
from tests.steps.buying import order_of, status_of
from tests.steps.shop import make_item, make_product
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)

OFTEN = 5


def cancel(api: APIClient, order: Order) -> Any:
    return api.post(f"/api/v1/orders/{order.number}/cancel/", headers={"idempotency-key": str(uuid4())})


def cancel_often(api: APIClient, item: SaleItem, buyer: User, *, times: int = OFTEN) -> None:
    api.force_authenticate(buyer)
    for _ in range(times):
        assert cancel(api, order_of(item, buyer)).status_code == 200


def test_a_buyer_who_cancels_again_and_again_has_to_wait(api: APIClient, item: SaleItem, buyer: User) -> None:
    cancel_often(api, item, buyer)
    order = order_of(item, buyer)
    answer = cancel(api, order)
    assert answer.status_code == 429
    assert answer["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem["code"] == "cancelled_too_often"
    assert 590 <= problem["retry_after"] <= 600
    assert answer["Retry-After"] == str(problem["retry_after"])
    assert "You can cancel again in " in problem["detail"]
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT


def test_the_limit_is_a_setting(api: APIClient, item: SaleItem, buyer: User, settings: LazySettings) -> None:
    settings.CANCEL_LIMIT = "1/2seconds"
    api.force_authenticate(buyer)
    assert cancel(api, order_of(item, buyer)).status_code == 200
    order = order_of(item, buyer)
    assert cancel(api, order).json()["retry_after"] <= 2


def test_other_buyers_and_other_items_are_not_meant(
    api: APIClient, item: SaleItem, product: Product, buyer: User, rival: User
) -> None:
    cancel_often(api, item, buyer)
    other = make_product(name="Sencha", slug="sencha", price_minor=9900, category=product.category)
    assert cancel(api, order_of(make_item(other), buyer)).status_code == 200
    order = order_of(item, rival)
    api.force_authenticate(rival)
    assert cancel(api, order).status_code == 200


def test_repeating_a_call_does_not_count(api: APIClient, item: SaleItem, buyer: User) -> None:
    api.force_authenticate(buyer)
    order = order_of(item, buyer)
    for _ in range(3 * OFTEN):
        assert cancel(api, order).status_code == 200
    assert cancel(api, order_of(item, buyer)).status_code == 200


@pytest.mark.slow
def test_the_page_says_how_long_and_what_to_do(as_buyer: Client, api: APIClient, item: SaleItem, buyer: User) -> None:
    cancel_often(api, item, buyer)
    order = order_of(item, buyer)
    page = as_buyer.post(f"/orders/{order.number}/cancel/", follow=True).content.decode()
    assert "You can cancel again in 10 minutes" in page or "You can cancel again in 9 minutes" in page
    assert "an order that is not paid ends at its payment deadline" in page


def test_while_the_cache_is_away_each_process_counts(
    api: APIClient,
    item: SaleItem,
    buyer: User,
    settings: LazySettings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cancel_often(api, item, buyer)
    order = order_of(item, buyer)
    store_away(settings, "default")
    assert cancel(api, order).status_code == 200
    cancel_often(api, item, buyer, times=OFTEN - 1)
    assert cancel(api, order_of(item, buyer)).status_code == 429
    assert "limits_not_counted" in caplog.text
