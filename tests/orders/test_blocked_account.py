"""An account that staff block takes no units any more: neither with the passes that it has, nor by unpaid orders."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from orders import tasks
from orders.cart.cart_holder import Holder
from orders.checkout import placement
from orders.checkout.placement import PlaceOutcome, place_order
from orders.life import intake, lifecycle
from orders.life.cancelling import cancel_unpaid_of
from orders.models import Document, Order, OrderStatus, Payment
from orders.repair.reconcile import reconcile
from seckill.models import SaleItem
from seckill.outbox import outbox
from shop.models import Product
from shop.models.people import AccountEnded
from tests.processes import wait_until
from tests.steps.at_once import in_the_middle, run_and_close
from tests.steps.buying import fill, order_of, reserve, status_of, wish_of
from tests.steps.operating import waiting_for_locks
from tests.steps.paying import message, payment_of, send_webhook
from tests.steps.shop import goods, make_item, units_in
from tests.steps.staff import customer_page
from tests.steps.store import figures

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def item(product: Product) -> SaleItem:
    return make_item(product, quantity=5, per_buyer_max=3)


def blocked(person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_active=False)


def block(person: User) -> int:
    """As staff do. Returns how many orders have ended."""
    blocked(person)
    return cancel_unpaid_of(buyer_id=person.pk)


def save_person(client: Client, person: User, **changes: Any) -> None:
    """The form of a person in the admin; a box that is not sent is not checked."""
    sent = {"username": person.username, "email": person.email, "date_joined_0": "2026-01-02", **changes}
    assert client.post(customer_page(person), {**sent, "date_joined_1": "03:04:05"}).status_code == 302


def test_a_pass_of_a_blocked_account_takes_no_units(item: SaleItem, buyer: User, rival: User) -> None:
    """The store knows no accounts, so it says yes; the reservation becomes no order that could be paid."""
    reserve(item, buyer)
    reserve(item, rival, 2)
    blocked(buyer)
    assert intake.drain_once(item_id=item.pk) == 2
    assert Order.objects.get(buyer=buyer).status == OrderStatus.REJECTED
    assert Order.objects.get(buyer=rival).status == OrderStatus.AWAITING_PAYMENT
    tasks.settle_orders()
    assert figures(item) == (3, 2, 0, 2)


def test_an_order_that_was_lost_is_brought_back_for_a_blocked_account_too(item: SaleItem, buyer: User) -> None:
    """It may have been paid; a reconcile finds its hold."""
    order = order_of(item, buyer)
    lifecycle.pay(order_id=order.pk)
    Document.objects.all().delete()
    Order.objects.filter(pk=order.pk).delete()
    SaleItem.objects.update(taken=0)
    blocked(buyer)
    reconcile(item_id=item.pk)
    assert Order.objects.get().status == OrderStatus.AWAITING_PAYMENT
    assert figures(item) == (4, 0, 1, 1)


def test_blocking_ends_unpaid_orders(item: SaleItem, buyer: User, rival: User, as_manager: Client) -> None:
    cup = goods("cup", units=10)
    unpaid, paid, others = order_of(item, buyer), order_of(item, buyer), order_of(item, rival)
    lifecycle.pay(order_id=paid.pk)
    ordinary = place_order(wish_of(fill(Holder(buyer_id=buyer.pk), cup=2))).order
    assert ordinary is not None
    save_person(as_manager, buyer, first_name="Ann", is_active="on")
    assert status_of(unpaid) == OrderStatus.AWAITING_PAYMENT
    save_person(as_manager, buyer)
    assert [status_of(order) for order in (unpaid, ordinary)] == [OrderStatus.CANCELLED] * 2
    assert [status_of(order) for order in (paid, others)] == [OrderStatus.PAID, OrderStatus.AWAITING_PAYMENT]
    assert figures(item) == (3, 1, 1, 2)
    assert units_in(cup) == (10, 0, 0)


def test_blocking_waits_for_an_order_that_is_being_written(item: SaleItem, buyer: User) -> None:
    reserve(item, buyer)
    with in_the_middle(intake, "take", lambda: block(buyer)) as blocking:
        intake.drain_once(item_id=item.pk)
    assert blocking[0].result() == 1
    assert Order.objects.get().status == OrderStatus.CANCELLED
    assert figures(item) == (5, 0, 0, 0)


def test_blocking_ends_an_order_of_an_item_whose_units_intake_has_just_taken(item: SaleItem, buyer: User) -> None:
    first = order_of(item, buyer)
    reserve(item, buyer)
    with in_the_middle(intake, "take", lambda: block(buyer), after=True) as blocking:
        intake.drain_once(item_id=item.pk)
    assert blocking[0].result() == 2
    assert [status_of(order) for order in (first, Order.objects.latest("pk"))] == [OrderStatus.CANCELLED] * 2
    assert figures(item) == (5, 0, 0, 0)


def test_blocking_and_a_batch_of_too_many_units_do_not_wait_for_each_other(item: SaleItem, buyer: User) -> None:
    """Such a batch locks the item before the accounts."""
    first = order_of(item, buyer)
    reserve(item, buyer)
    batch = [intake.parse_entry(entry) for entry in outbox.read_all(item_id=item.pk, count_max=10)]
    with in_the_middle(intake, "insert_orders", lambda: block(buyer)) as blocking:
        intake.persist_with_surplus(item_id=item.pk, new_orders=batch)
    assert blocking[0].result() == 1
    assert [status_of(order) for order in (first, Order.objects.latest("pk"))] == [
        OrderStatus.CANCELLED,
        OrderStatus.REJECTED,
    ]
    assert figures(item) == (5, 0, 0, 0)


def test_blocking_waits_for_a_checkout(buyer: User) -> None:
    cup = goods("cup", units=10)
    wish = wish_of(fill(Holder(buyer_id=buyer.pk), cup=2))
    with in_the_middle(placement, "move_units", lambda: block(buyer)) as blocking:
        assert place_order(wish).outcome is PlaceOutcome.PLACED
    assert blocking[0].result() == 1
    assert Order.objects.get().status == OrderStatus.CANCELLED
    assert units_in(cup) == (10, 0, 0)


def test_a_checkout_waits_while_its_account_is_blocked_and_orders_nothing(buyer: User) -> None:
    cup = goods("cup", units=10)
    wish = wish_of(fill(Holder(buyer_id=buyer.pk), cup=2))
    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            blocked(buyer)
            checkout = thread.submit(run_and_close(place_order), wish)
            wait_until(lambda: checkout.done() or waiting_for_locks() > 0, seconds_max=30)
        with pytest.raises(AccountEnded):
            checkout.result()
    assert not Order.objects.exists()
    assert units_in(cup) == (10, 0, 0)


def test_money_for_an_order_that_a_killed_process_left_to_a_blocked_account_goes_back(
    item: SaleItem, buyer: User
) -> None:
    # Given a page that is open, and a process that was killed after it had blocked the account
    cup = goods("cup", units=10)
    ordinary = place_order(wish_of(fill(Holder(buyer_id=buyer.pk), cup=2))).order
    assert ordinary is not None
    orders = [order_of(item, buyer), ordinary]
    payments = [payment_of(order) for order in orders]
    blocked(buyer)
    # When the buyer pays there
    for payment in payments:
        assert send_webhook(message(payment)).status_code == 200
    # Then the orders have ended, and their units are on sale again
    assert [status_of(order) for order in orders] == [OrderStatus.REFUND_DUE] * 2
    assert set(Payment.objects.values_list("status", flat=True)) == {Payment.Status.REFUND_DUE}
    assert figures(item) == (5, 0, 0, 0)
    assert units_in(cup) == (10, 0, 0)
