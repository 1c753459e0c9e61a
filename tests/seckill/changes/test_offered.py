"""After its end a sale says how many units it had and sold, to staff and to the public, also once it is archived."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders import tasks
from orders.life import lifecycle
from seckill.changes.journal import make_change
from seckill.changes.rules import CannotChange, Kind
from seckill.models import SaleItem
from shop.models import Product
from tests.steps.buying import order_of
from tests.steps.shop import make_item, text_of
from tests.steps.staff import admin_page, change, control_page, messages_on

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ended(product: Product, buyer: User) -> SaleItem:
    """One of five units was sold, four went back to the stock."""
    item = make_item(product, quantity=5)
    assert lifecycle.pay(order_id=order_of(item, buyer).pk)
    change(item, Kind.END_NOW)
    assert tasks.return_unsold_units() == 4
    item.refresh_from_db()
    return item


def seen_by_the_public(client: Client, item: SaleItem) -> tuple[bool, list[int]]:
    """Whether the page says the result, and the quantities of the API."""
    [shown] = client.get(f"/api/v1/sales/{item.sale_id}/").json()["items"]
    [live] = client.get(f"/api/v1/sales/{item.sale_id}/live/").json()["items"]
    live_of_item = client.get(f"/api/v1/sale-items/{item.pk}/live/").json()
    assert (live["sold"], live_of_item["sold"]) == (1, 1)
    quantities = [one["quantity"] for one in (shown, live, live_of_item)]
    page = text_of(client, item.sale.get_absolute_url())
    assert "left</p>" not in page
    assert "共 5 件，售出 1 件" in text_of(client, f"/zh-hans{item.sale.get_absolute_url()}")
    return "1 of 5 sold" in page, quantities


def test_the_result_stays_for_the_public(client: Client, ended: SaleItem) -> None:
    assert (ended.quantity, ended.offered) == (1, 5)
    assert seen_by_the_public(client, ended) == (True, [5, 5, 5])
    SaleItem.objects.update(archived_at=timezone.now())
    assert seen_by_the_public(client, ended) == (True, [5, 5, 5])


def test_staff_see_it_and_are_offered_no_change_of_units(as_manager: Client, ended: SaleItem) -> None:
    page = text_of(as_manager, admin_page(ended.sale))
    assert "4 back in stock" in page
    assert 'data-figure="quantity">5<' in page
    for word in ("Add units", "Withdraw units"):
        assert word not in page
    assert "Move the closing time" in page
    answer = as_manager.get(control_page(ended, Kind.ADD_UNITS), follow=True)
    sentence = "This sale is over. To change its units, first move its end to a later time."
    assert messages_on(answer) == [sentence]
    for kind in (Kind.ADD_UNITS, Kind.WITHDRAW_UNITS, Kind.UNITS_PER_BUYER):
        with pytest.raises(CannotChange, match="This sale is over"):
            make_change(kind=kind, item_id=ended.pk, units=1, reason="more", made_by=None)


def test_units_that_come_back_from_an_archived_sale_are_counted(ended: SaleItem, buyer: User) -> None:
    SaleItem.objects.update(archived_at=timezone.now())
    order = buyer.orders.get()
    assert lifecycle.refund(order_id=order.pk, units_back=True)
    assert tasks.return_unsold_units() == 1
    ended.refresh_from_db()
    assert (ended.quantity, ended.offered) == (0, 5)


def test_sales_of_before_are_counted_from_their_journal(ended: SaleItem) -> None:
    SaleItem.objects.update(returned=0)
    import_module("seckill.migrations.0003_offered").count_returned(apps, None)
    ended.refresh_from_db()
    assert ended.offered == 5
