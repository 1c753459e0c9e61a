"""How orders end: paid, expired, sent; repeatedly, and with the store unreachable."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from orders import tasks
from orders.cart.cart_holder import Holder
from orders.checkout.placement import place_order
from orders.life import intake, lifecycle, settlement
from orders.models import Order, OrderStatus
from seckill.models import SaleItem
from shop.models import Product, Variant
from tests.processes import wait_until
from tests.steps.at_once import run_and_close
from tests.steps.buying import (
    drained,
    fill,
    let_deadlines_pass,
    new_buyers,
    order_of,
    reserve_often,
    wish_of,
)
from tests.steps.operating import waiting_for_locks
from tests.steps.shop import goods, make_item, make_product, units_in
from tests.steps.store import figures, store_away

pytestmark = pytest.mark.django_db(transaction=True)


def test_paying_sells_the_units_once_and_for_good_and_then_the_order_is_shipped_and_completed(
    order: Order, item: SaleItem
) -> None:
    assert not lifecycle.ship(order_id=order.pk)
    assert lifecycle.pay(order_id=order.pk)
    assert not lifecycle.pay(order_id=order.pk)
    assert not lifecycle.cancel(order_id=order.pk)
    order.refresh_from_db()
    assert (order.status, order.settled_at is not None) == (OrderStatus.PAID, True)
    let_deadlines_pass()
    assert tasks.expire_overdue() == 0
    for step, before in ((lifecycle.ship, lifecycle.complete), (lifecycle.complete, lifecycle.ship)):
        assert not before(order_id=order.pk)
        assert step(order_id=order.pk)
        assert not step(order_id=order.pk)
    assert figures(item) == (4, 0, 1, 1)


def test_an_order_whose_deadline_was_moved_since_it_was_listed_does_not_expire(order: Order, item: SaleItem) -> None:
    let_deadlines_pass()

    def move_deadline(**_asked: Any) -> set[Any]:
        Order.objects.update(expires_at=order.expires_at)
        return set()

    with mock.patch.object(lifecycle, "sold_in_the_store", move_deadline):
        assert lifecycle.expire_overdue() == 0
    assert figures(item) == (4, 1, 0, 1)


def test_a_payment_that_is_recorded_while_the_order_is_being_cancelled_waits_and_is_refused(
    order: Order, item: SaleItem
) -> None:
    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            assert lifecycle.end_unpaid(order_ids=[order.pk], status=OrderStatus.CANCELLED) == [order.pk]
            paying = thread.submit(run_and_close(lambda: lifecycle.pay(order_id=order.pk)))
            wait_until(lambda: paying.done() or waiting_for_locks() == 1, seconds_max=30)
        assert not paying.result(timeout=30)
    order.refresh_from_db()
    assert order.status == OrderStatus.CANCELLED
    tasks.settle_orders()
    assert figures(item) == (5, 0, 0, 0)


def test_what_was_shipped_or_refunded_before_the_store_heard_of_its_payment_is_sold_there_too(
    item: SaleItem, buyer: User, rival: User, settings: LazySettings
) -> None:
    shipped, refunded = order_of(item, buyer), order_of(item, rival)
    healthy = store_away(settings)
    for order in (shipped, refunded):
        assert lifecycle.pay(order_id=order.pk)
    assert lifecycle.ship(order_id=shipped.pk)
    assert lifecycle.refund(order_id=refunded.pk, units_back=False)
    settings.CACHES = healthy
    assert tasks.settle_orders() == 2
    assert figures(item) == (3, 0, 2, 2)


def test_expiry_at_the_deadline_frees_units_and_limit(product: Product, buyer: User) -> None:
    item = make_item(product, per_buyer_max=3)
    order = order_of(item, buyer, units=3)
    assert tasks.expire_overdue() == 0
    assert figures(item) == (2, 3, 0, 3)
    let_deadlines_pass()
    assert not lifecycle.pay(order_id=order.pk)
    assert tasks.expire_overdue() == 1
    assert tasks.expire_overdue() == 0
    assert figures(item) == (5, 0, 0, 0)
    assert order_of(item, buyer, units=3).status == OrderStatus.AWAITING_PAYMENT


def test_many_orders_expire_in_batches(product: Product) -> None:
    item = make_item(product, quantity=20)
    reserve_often(item, 20)
    intake.drain_once(item_id=item.pk)
    let_deadlines_pass()
    assert lifecycle.expire_overdue(batch_max=8) == 8
    assert figures(item) == (8, 12, 0, 12)
    assert tasks.expire_overdue() == 12
    assert figures(item) == (20, 0, 0, 0)


def test_an_expiry_that_the_store_was_not_told_is_settled_later(
    item: SaleItem, buyer: User, settings: LazySettings, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    order_of(item, buyer)
    let_deadlines_pass()
    healthy = settings.CACHES
    store_away(settings)
    assert tasks.expire_overdue() == 1
    order = Order.objects.get()
    assert (order.status, order.settled_at) == (OrderStatus.EXPIRED, None)

    settings.CACHES = healthy
    assert figures(item) == (4, 1, 0, 0)
    assert tasks.settle_orders() == 1
    # Each second of a shop in which nothing waits.
    with django_assert_num_queries(1):
        assert tasks.settle_orders() == 0
    assert figures(item) == (5, 0, 0, 0)


def test_an_item_that_the_store_lost_does_not_block_the_others(product: Product, buyer: User, store: Any) -> None:
    lost = make_item(product)
    other = make_item(make_product(name="Pu'er tea", slug="puer", price_minor=9900))
    order_of(lost, buyer)
    order_of(other, buyer)
    store.delete(*store.keys(f"seckill:{{{lost.pk}}}:*"))
    let_deadlines_pass()
    assert tasks.expire_overdue() == 2
    assert figures(other) == (5, 0, 0, 0)
    assert Order.objects.filter(settled_at=None).count() == 1
    for _ in range(3):
        assert settlement.settle_orders(batch_max=1) == 0


def test_an_order_whose_stock_has_no_room_for_its_units_does_not_block_the_others(item: SaleItem) -> None:
    full, tea = goods("full"), goods("tea")
    stuck = place_order(wish_of(fill(Holder(), full=2))).order
    Variant.objects.filter(pk=full.pk).update(available=2**31 - 1)
    # It is the oldest, so it is in every batch.
    let_deadlines_pass()
    for _ in range(2):
        place_order(wish_of(fill(Holder(), tea=1)))
    reserve_often(item, 2)
    drained(item)
    let_deadlines_pass()
    assert [lifecycle.expire_overdue(batch_max=batch_max) for batch_max in (1, 4, 4)] == [1, 3, 0]
    assert list(Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT)) == [stuck]
    assert (units_in(tea), figures(item)) == ((10, 0, 0), (5, 0, 0, 0))
    Variant.objects.filter(pk=full.pk).update(available=8)
    assert tasks.expire_overdue() == 1
    assert units_in(full) == (10, 0, 0)


def test_a_damaged_hold_does_not_block_the_others(product: Product, store: Any) -> None:
    item = make_item(product, quantity=5)
    orders = [order_of(item, person) for person in new_buyers(5)]
    store.hset(f"seckill:{{{item.pk}}}:holds", str(orders[2].reservation_id), "gibberish")
    let_deadlines_pass()
    assert tasks.expire_overdue() == 5
    assert list(Order.objects.filter(settled_at=None)) == [orders[2]]
    assert figures(item) == (4, 1, 0, 0)
    assert tasks.settle_orders() == 0
