"""Placing an order from a cart: all lines or none, and what is refused changes nothing."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import IntegrityError, connection
from django.utils import timezone

from orders.cart.cart_holder import Holder
from orders.checkout.placement import PlaceOutcome, place_once, place_order
from orders.idempotent_calls import CallState, KeyedCall
from orders.invoices.included_taxes import TaxShare, tax_shares, taxes_of
from orders.life import lifecycle
from orders.models import (
    CartLine,
    IdempotentCall,
    Order,
    OrderStatus,
    ShippingAddress,
    ShippingMethod,
    ShippingPrice,
)
from shop.models import Product, TaxRate, Variant
from tests.steps.buying import ADDRESS, GUEST, assert_stock_agrees, fill, wish_of
from tests.steps.crash import killed_at
from tests.steps.shop import goods, units_in

pytestmark = pytest.mark.django_db(transaction=True)


def nothing_happened(*variants: Variant, lines: int) -> bool:
    held = [units_in(variant)[1:] for variant in variants]
    return not Order.objects.exists() and set(held) <= {(0, 0)} and CartLine.objects.count() == lines


def test_a_cart_becomes_an_order_whose_units_are_held(buyer: User) -> None:
    tea, cup = goods("tea", price_minor=1130), goods("cup", price_minor=500)
    Product.objects.filter(slug="tea").update(tax_rate=TaxRate.objects.create(name="VAT", percent=Decimal(13)))
    method = ShippingMethod.objects.create(code="post", name="Post", name_zh_hans="邮政")
    ShippingPrice.objects.create(method=method, price_minor=800)
    holder = fill(Holder(buyer_id=buyer.pk), tea=2, cup=1)
    placement = place_order(wish_of(holder, shipping_method="post", note="Ring twice", language="zh-hans"))
    assert placement.outcome is PlaceOutcome.PLACED
    order = Order.objects.get()
    assert (order.buyer, order.email, order.status) == (buyer, "", OrderStatus.AWAITING_PAYMENT)
    assert (order.amount_minor, order.goods_minor, order.shipping_minor) == (3560, 2760, 800)
    assert (order.shipping_name, order.language, order.buyer_note) == ("Post", "zh-hans", "Ring twice")
    assert len(order.code) == 8
    left = order.expires_at - timezone.now()
    assert timedelta(minutes=29) < left <= timedelta(minutes=30)
    assert ShippingAddress.objects.filter(order=order, **ADDRESS).exists()
    lines = order.lines.values_list("variant__sku", "units", "unit_price_minor", "tax_percent")
    assert list(lines) == [("SKU-tea", 2, 1130, Decimal(13)), ("SKU-cup", 1, 500, None)]
    assert [(share.percent_text, share.tax_minor) for share in taxes_of(order)] == [("13", 260)]
    assert (units_in(tea), units_in(cup)) == ((8, 2, 0), (9, 1, 0))
    assert not CartLine.objects.exists()
    # And the rest of its life is that of every order.
    assert lifecycle.pay(order_id=order.pk)
    assert (units_in(tea), units_in(cup)) == ((8, 0, 2), (9, 0, 1))
    assert_stock_agrees(tea)
    assert_stock_agrees(cup)


def test_a_guests_order_has_an_address_and_no_buyer_and_its_units_come_back_when_it_expires(buyer: User) -> None:
    tea = goods("tea")
    assert place_order(wish_of(fill(Holder(), tea=4))).order is not None
    order = Order.objects.get()
    assert (order.buyer, order.contact_email) == (None, GUEST)
    Order.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert lifecycle.expire_overdue() == 1
    assert units_in(tea) == (10, 0, 0)
    assert_stock_agrees(tea)


def test_too_few_units_or_a_line_that_is_no_longer_sold_order_nothing_at_all() -> None:
    tea, cup = goods("tea"), goods("cup", units=1)
    placement = place_order(wish_of(fill(Holder(), tea=2, cup=2)))
    assert placement.outcome is PlaceOutcome.STOCK_CHANGED
    assert [(line.variant, line.left) for line in placement.lines] == [(cup, 1)]
    assert nothing_happened(tea, cup, lines=2)
    holder = fill(Holder(), tea=1, cup=1)
    Product.objects.filter(slug="cup").update(is_active=False)
    assert place_order(wish_of(holder)).outcome is PlaceOutcome.STOCK_CHANGED
    assert nothing_happened(tea, cup, lines=4)


def test_a_price_that_the_buyer_has_not_seen_orders_nothing() -> None:
    tea = goods("tea", price_minor=1000)
    holder = fill(Holder(), tea=1)
    Variant.objects.update(price_minor=900)
    placement = place_order(wish_of(holder))
    assert placement.outcome is PlaceOutcome.PRICE_CHANGED
    assert [(line.seen_price_minor, line.unit_price_minor) for line in placement.lines] == [(1000, 900)]
    Variant.objects.update(price_minor=1000)
    # A page of an hour ago, with another total.
    assert place_order(wish_of(holder, seen_total_minor=2000)).outcome is PlaceOutcome.PRICE_CHANGED
    assert nothing_happened(tea, lines=1)
    assert place_order(wish_of(holder, seen_total_minor=1000)).outcome is PlaceOutcome.PLACED


def test_a_way_of_sending_must_be_offered_for_the_price_that_was_shown() -> None:
    tea = goods("tea")
    method = ShippingMethod.objects.create(code="post", name="Post", countries=["DE"])
    ShippingPrice.objects.create(method=method, price_minor=800)
    holder = fill(Holder(), tea=1)
    for code in ("free", "post", ""):
        wish = wish_of(holder, shipping_method=code)
        assert place_order(wish).outcome is PlaceOutcome.SHIPPING_NOT_OFFERED
    there = {**ADDRESS, "country": "DE"}
    wish = wish_of(holder, shipping_method="post", address=there, seen_shipping_minor=700)
    assert place_order(wish).outcome is PlaceOutcome.PRICE_CHANGED
    assert nothing_happened(tea, lines=1)


def test_a_buyer_cannot_hold_the_stock_with_unpaid_orders(buyer: User, settings: LazySettings) -> None:
    settings.CHECKOUT_UNPAID_MAX = 2
    goods("tea", units=100)
    for holder in (Holder(), Holder(buyer_id=buyer.pk)):
        outcomes = [place_order(wish_of(fill(holder, tea=1), email="A@example.com")).outcome for _ in range(3)]
        assert outcomes == [PlaceOutcome.PLACED, PlaceOutcome.PLACED, PlaceOutcome.TOO_MANY_UNPAID]
    # The address is the same, however it is written; who has paid may order again.
    assert place_order(wish_of(fill(Holder(), tea=1), email="a@example.com")).outcome is PlaceOutcome.TOO_MANY_UNPAID
    lifecycle.pay(order_id=Order.objects.filter(buyer=buyer).latest("pk").pk)
    assert place_order(wish_of(Holder(buyer_id=buyer.pk))).outcome is PlaceOutcome.PLACED


def test_taxes_are_rounded_once_for_each_rate() -> None:
    thirteen, nine = Decimal("13.00"), Decimal("9.00")
    # 3 × 99 at 13 %: 297 × 13 / 113 = 34.17; three roundings of 11.39 would make 33.
    amounts = [(99, thirteen), (99, thirteen), (99, thirteen), (100, nine), (500, None), (0, Decimal(6))]
    assert tax_shares(amounts) == [TaxShare(thirteen, 297, 34), TaxShare(nine, 100, 8)]


@pytest.mark.usefixtures("first_number_drawn_twice")
def test_a_short_number_that_is_drawn_twice_is_drawn_again() -> None:
    tea = goods("tea")
    for units in (1, 2):
        assert place_order(wish_of(fill(Holder(), tea=units))).outcome is PlaceOutcome.PLACED
    assert len(set(Order.objects.values_list("code", flat=True))) == 2
    assert units_in(tea) == (7, 3, 0)
    assert_stock_agrees(tea)
    assert not CartLine.objects.exists()


@pytest.mark.usefixtures("first_number_drawn_twice")
def test_a_number_that_is_always_drawn_again_is_an_error_and_orders_nothing() -> None:
    tea = goods("tea")
    place_order(wish_of(fill(Holder(), tea=1)))
    holder = fill(Holder(), tea=2)
    with connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE draws MAXVALUE 2 START 1 RESTART 1 CYCLE")
    with pytest.raises(IntegrityError):
        place_order(wish_of(holder))
    assert Order.objects.count() == 1
    assert units_in(tea) == (9, 1, 0)
    assert CartLine.objects.count() == 1


def check_out(holder: Holder) -> CallState:
    return place_once(wish_of(holder), KeyedCall(owner=holder.owner, key="key")).state


def test_killed_before_the_commit_nothing_has_happened_and_the_repeated_call_orders() -> None:
    tea = goods("tea")
    holder = fill(Holder(), tea=2)
    with killed_at("checkout.before_commit"):
        check_out(holder)
    assert not Order.objects.exists()
    assert not IdempotentCall.objects.exists()
    assert (units_in(tea), CartLine.objects.get().units) == ((10, 0, 0), 2)
    assert check_out(holder) is CallState.NEW
    assert units_in(tea) == (8, 2, 0)
    assert_stock_agrees(tea)


def test_killed_after_the_commit_the_order_stands_and_the_repeated_call_gets_it() -> None:
    tea = goods("tea")
    holder = fill(Holder(), tea=2)
    with killed_at("checkout.after_commit"):
        check_out(holder)
    assert units_in(tea) == (8, 2, 0)
    assert not CartLine.objects.exists()
    assert check_out(holder) is CallState.REPLAYED
    assert Order.objects.count() == 1
    assert_stock_agrees(tea)
