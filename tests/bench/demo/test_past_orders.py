"""`load_many --orders N` makes orders as a shop would have them, and books that agree."""

from datetime import timedelta
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.models import F, Sum
from django.utils import timezone

from bench.demo import past_orders
from bench.demo.past_orders import NothingToSell, load_orders
from orders.life import lifecycle, settlement
from orders.models import SOLD, Mail, Order, OrderLine, OrderStatus, Payment, ShippingAddress
from orders.payments import refunds
from orders.payments.simulated.models import SimulatedSession
from orders.repair.stock_audit import audit_stock
from shop.addresses.address_checks import address_errors, tidy_address
from shop.demo.loading import load_goods
from shop.models import Product, StockChange

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 300
# What occurs in a shop, without what goes wrong.
STATES = {
    OrderStatus.AWAITING_PAYMENT,
    OrderStatus.PAID,
    OrderStatus.SHIPPED,
    OrderStatus.COMPLETED,
    OrderStatus.EXPIRED,
    OrderStatus.CANCELLED,
    OrderStatus.REFUNDED,
}


@pytest.fixture
def _goods() -> None:
    load_goods()


@pytest.mark.usefixtures("_goods")
def test_orders_are_spread_over_states_and_months_and_are_like_those_of_a_shop() -> None:
    assert load_orders(COUNT) == COUNT
    orders = Order.objects.all()
    assert set(orders.values_list("status", flat=True)) == STATES
    assert orders.filter(created_at__lt=timezone.now() - timedelta(days=120)).exists()
    assert orders.filter(created_at__gt=timezone.now() - timedelta(days=7)).exists()
    assert not orders.filter(created_at__gt=timezone.now()).exists()
    assert orders.filter(buyer=None).exists()
    assert orders.filter(buyer__isnull=False).exists()
    assert audit_stock().differences == []
    assert_what_belongs_to_an_order_fits_its_status()
    # Nothing is left for the sweeps to do.
    before = dict(orders.values_list("pk", "status"))
    assert lifecycle.expire_overdue() == 0
    assert settlement.settle_orders() == 0
    assert not Mail.objects.filter(sent_at=None).exists()
    assert dict(orders.values_list("pk", "status")) == before
    # One of them can be refunded like any other.
    order = orders.filter(status=OrderStatus.COMPLETED)[0]
    assert lifecycle.refund(order_id=order.pk, units_back=True)
    refunds.request_due_refunds()
    payment = Payment.objects.get(order=order)
    assert SimulatedSession.objects.get(payment_id=payment.pk).status == SimulatedSession.Status.REFUNDED
    assert audit_stock().differences == []


def assert_what_belongs_to_an_order_fits_its_status() -> None:
    goods = dict(OrderLine.objects.values_list("order").annotate(total=Sum(F("units") * F("unit_price_minor"))))
    for address in ShippingAddress.objects.all():
        tidied = tidy_address(vars(address))
        assert address_errors(tidied) == {}, tidied
        # As the shop would have written it.
        assert tidied.items() >= {(name, getattr(address, name)) for name in ("region", "city", "postcode", "phone")}
    for order in Order.objects.select_related("shipping_address").prefetch_related("payments", "mails", "refunds"):
        assert order.amount_minor == goods[order.pk] + order.shipping_minor
        assert order.shipping_address.city
        was_paid = order.status in {OrderStatus.REFUNDED, *SOLD}
        assert [payment.amount_minor for payment in order.payments.all()] == [order.amount_minor] * was_paid
        assert bool(order.shipped_at) == (order.status in (OrderStatus.SHIPPED, OrderStatus.COMPLETED))
        assert order.refunds.count() == (order.status == OrderStatus.REFUNDED)
        assert (Mail.Kind.PAID in {mail.kind for mail in order.mails.all()}) == was_paid


@pytest.mark.usefixtures("_goods")
def test_the_second_time_only_what_is_missing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_orders, "BATCH_SIZE", 20)
    told: list[tuple[int, int]] = []
    assert load_orders(50, report_progress=lambda done, total: told.append((done, total))) == 50
    assert told == [(20, 50), (40, 50), (50, 50)]
    people = User.objects.count()
    assert load_orders(50) == load_orders(10) == 0
    # A batch that fails leaves nothing behind.
    changes = StockChange.objects.count()
    with monkeypatch.context() as failing:
        failing.setattr(past_orders, "record_past", mock.Mock(side_effect=RuntimeError("no stock")))
        with pytest.raises(RuntimeError):
            load_orders(70)
    assert (Order.objects.count(), StockChange.objects.count()) == (50, changes)
    assert load_orders(70) == 20
    assert Order.objects.count() == 70
    assert User.objects.count() - people < 10
    assert audit_stock().differences == []


def test_a_number_that_is_none_or_too_high_and_a_shop_with_nothing_to_sell_are_refused() -> None:
    wrong = ("--orders=-5", "--orders=many", "--orders=1.5", "--orders=1000001", "--orders=９", "--products=100001")
    for option in wrong:
        with pytest.raises(CommandError, match="is not a whole number from 1 to 10{5,6}$"):
            call_command("load_many", option)
    Product.objects.all().delete()
    with pytest.raises(NothingToSell):
        load_orders(1)
