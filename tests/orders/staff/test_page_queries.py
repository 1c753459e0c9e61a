"""The pages of an order and of a person take a handful of queries, the same for one row as for many."""

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from orders.life import lifecycle
from orders.models import Order, OrderLine, OrderNote
from seckill.models import SaleItem
from tests.steps.buying import make_orders, order_of, with_address
from tests.steps.paying import make_events, refund_part
from tests.steps.shop import goods
from tests.steps.staff import admin_page, staff_pay_back

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


@pytest.fixture
def order(buyer: User, item: SaleItem) -> Order:
    with_address(buyer)
    order = order_of(item, buyer)
    lifecycle.pay(order_id=order.pk)
    make_events([order])
    return order


def test_the_page_of_an_order(
    client: Client, order: Order, buyer: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    page = admin_page(order)
    client.get(page)
    # The person, the order, its lines, pictures, payments, refunds, documents, mails, notes, events and history, and
    # two counts for the sidebar.
    with django_assert_num_queries(13):
        client.get(page)
    for number in range(3):
        OrderNote.objects.create(order=order, text="called", made_by=buyer)
        LogEntry.objects.log_actions(buyer.pk, [order], CHANGE, "Looked at.")
        OrderLine.objects.create(order=order, variant=goods(f"more-{number}"), units=1, unit_price_minor=100)
        refund_part(order, 100)
        staff_pay_back(order)
    with django_assert_num_queries(13):
        client.get(page)


def test_the_page_of_a_person(
    client: Client, order: Order, buyer: User, item: SaleItem, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    page = admin_page(buyer)
    client.get(page)
    with django_assert_num_queries(14):
        client.get(page)
    make_orders(12, buyer=buyer, item=item)
    with django_assert_num_queries(14):
        client.get(page)
