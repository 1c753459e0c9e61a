"""Many checkouts at once: exactly what is there is sold, nobody meets a deadlock, and the journal agrees.

CHECKOUT_RACES says how many carts race for the goods, LAST_UNIT_RACES how many last units two buyers want at once; the
defaults keep `make test` short. The promise is tried with 1,000 of each.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from django.conf import LazySettings

from orders.cart.cart_holder import Holder
from orders.checkout.placement import CheckoutRequest, PlaceOutcome, place_once, place_order
from orders.idempotent_calls import CallState, KeyedCall
from orders.life import lifecycle
from orders.models import Cart, CartLine, Order, OrderStatus
from shop.models import Variant
from tests.steps.at_once import at_once
from tests.steps.buying import assert_stock_agrees, wish_of
from tests.steps.shop import goods, units_in

pytestmark = pytest.mark.django_db(transaction=True)

CARTS = int(os.environ.get("CHECKOUT_RACES", "150"))
LAST_UNITS = int(os.environ.get("LAST_UNIT_RACES", "8"))
THREADS = 20


def carts_with(
    count: int, lines: Sequence[tuple[Variant, int]], *, reverse_every_second: bool = True
) -> list[CheckoutRequest]:
    """Guests with these lines, every second one in the opposite order."""
    carts = Cart.objects.bulk_create(Cart() for _ in range(count))
    CartLine.objects.bulk_create(
        CartLine(cart=cart, variant=variant, units=units, seen_price_minor=variant.price_minor)
        for number, cart in enumerate(carts)
        for variant, units in (reversed(lines) if number % 2 and reverse_every_second else lines)
    )
    # Each with an address of their own: unpaid orders are bounded by it.
    return [wish_of(Holder(token=cart.token), email=f"guest-{cart.pk}@example.com") for cart in carts]


def all_at_once(work: Callable[[CheckoutRequest], str], wishes: Sequence[CheckoutRequest]) -> Counter[str]:
    """How often each answer came."""

    def work_on(share: Sequence[CheckoutRequest]) -> Counter[str]:
        return Counter(work(wish) for wish in share)

    shares = [wishes[number::THREADS] for number in range(min(THREADS, len(wishes)))]
    return sum(at_once([partial(work_on, share) for share in shares]), Counter())


def order(wish: CheckoutRequest) -> str:
    return place_order(wish).outcome


def test_two_lines_in_opposite_order_sell_exactly_what_is_there(settings: LazySettings) -> None:
    # All are guests.
    settings.GUEST_SHARE_PERCENT = 100
    units = CARTS // 10
    tea, cup = goods("tea", units=units), goods("cup", units=units)
    answers = all_at_once(order, carts_with(CARTS, [(tea, 1), (cup, 1)]))
    assert answers == {PlaceOutcome.PLACED: units, PlaceOutcome.STOCK_CHANGED: CARTS - units}
    for variant in (tea, cup):
        assert units_in(variant) == (0, units, 0)
        assert_stock_agrees(variant)
    # And while some pay and some cancel, others buy what comes back.
    more = carts_with(units, [(cup, 1), (tea, 1)])
    ends = list(Order.objects.values_list("pk", flat=True))

    def end_or_buy(wish: CheckoutRequest) -> str:
        pk = ends.pop()
        ended = lifecycle.cancel(order_id=pk) if pk % 2 else lifecycle.pay(order_id=pk)
        assert ended
        return place_order(wish).outcome

    answers = all_at_once(end_or_buy, more)
    assert set(answers) <= {PlaceOutcome.PLACED, PlaceOutcome.STOCK_CHANGED}
    for variant in (tea, cup):
        assert_stock_agrees(variant)
    cancelled = Order.objects.filter(status=OrderStatus.CANCELLED).count()
    assert units_in(tea)[0] == cancelled - answers[PlaceOutcome.PLACED]


def test_the_last_unit_is_sold_once() -> None:
    wishes = []
    variants = [goods(f"last-{number}", units=1) for number in range(LAST_UNITS)]
    for variant in variants:
        wishes += carts_with(2, [(variant, 1)])
    answers = all_at_once(order, wishes)
    assert answers == {PlaceOutcome.PLACED: LAST_UNITS, PlaceOutcome.STOCK_CHANGED: LAST_UNITS}
    for variant in variants:
        assert units_in(variant) == (0, 1, 0)
        assert_stock_agrees(variant)


def test_calls_that_are_repeated_at_once_order_once_each() -> None:
    """A page waits for the first call and gets its answer; the API is told that it is running."""
    tea = goods("tea", units=100)
    wishes = carts_with(5, [(tea, 1)])

    def call(wish: CheckoutRequest) -> str:
        result = place_once(wish, KeyedCall(owner=wish.holder.owner, key="key"), wait=random.random() < 0.5)
        return result.state

    repeated = wishes * 8
    random.shuffle(repeated)
    answers = all_at_once(call, repeated)
    assert set(answers) <= {CallState.NEW, CallState.REPLAYED, CallState.RUNNING}
    assert answers[CallState.NEW] == 5
    assert Order.objects.count() == 5
    assert units_in(tea) == (95, 5, 0)
    assert_stock_agrees(tea)
