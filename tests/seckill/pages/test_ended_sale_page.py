"""The page of a sale that is over says what happened and where to go next."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.models import Order, OrderStatus
from seckill import ledger
from seckill.models import SaleChange, SaleItem
from shop.models import Product
from tests.steps.buying import order_of
from tests.steps.shop import make_item, text_of
from tests.steps.staff import change

pytestmark = pytest.mark.django_db(transaction=True)


def sold_to(item: SaleItem, buyer: User, *, seconds_after_opening: int = 0) -> None:
    order = order_of(item, buyer)
    ledger.confirm(item_id=item.pk, reservation_ids=[order.reservation_id or order.number])
    reserved_at = item.sale.opens_at + timedelta(seconds=seconds_after_opening)
    paid = {"status": OrderStatus.PAID, "ended_at": timezone.now(), "is_invoiced": True}
    Order.objects.filter(pk=order.pk).update(reserved_at=reserved_at, **paid)


def page_after_the_end(client: Client, item: SaleItem, language: str = "") -> str:
    change(item, SaleChange.Kind.END_NOW)
    return " ".join(text_of(client, language + item.sale.get_absolute_url()).split())


def test_a_sale_that_sold_everything_says_in_what_time(client: Client, product: Product, buyer: User) -> None:
    item = make_item(product, quantity=1)
    sold_to(item, buyer, seconds_after_opening=4)
    text = page_after_the_end(client, item)
    assert "Longjing tea was sold out within 4 seconds." in text
    assert "1 of 1 sold" in text


def test_it_leads_on_and_no_longer_says_how_to_reserve(client: Client, item: SaleItem) -> None:
    text = page_after_the_end(client, item)
    assert 'data-phase="ended"' in text
    assert "Reserve now" not in text.split('id="texts"')[0]
    assert "See the other sales" in text
    assert "Buy it for CN¥99.00" in text
    for hidden in ("At most 1 per buyer", "Press the button before the start"):
        assert hidden not in text.split('id="texts"')[0], hidden
