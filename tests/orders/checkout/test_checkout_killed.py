"""A checkout whose process is killed: before the commit nothing has happened, after it the order stands, once."""

import pytest

from orders.cart.cart_holder import Holder
from orders.checkout.placement import place_once
from orders.idempotent_calls import CallState, KeyedCall
from orders.models import CartLine, IdempotentCall, Order
from tests.steps.buying import assert_stock_agrees, fill, wish_of
from tests.steps.crash import killed_at
from tests.steps.shop import goods, units_in

pytestmark = pytest.mark.django_db(transaction=True)


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
