"""Guests are nobody in particular, so what they hold without paying is bounded: by mailbox, network, share and time."""

from datetime import timedelta
from functools import partial

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from orders.cart.cart_holder import Holder
from orders.checkout.placement import Placement, PlaceOutcome, place_order
from orders.life import lifecycle
from orders.models import Order
from orders.payments import sessions
from shop.mails.outgoing_mail import mailbox_of
from shop.models import Product, Variant
from tests.steps.at_once import at_once
from tests.steps.buying import add_to_cart, check_out, fill, form_of, put, wish_of
from tests.steps.guarding import replace_key
from tests.steps.shop import goods, units_in

pytestmark = pytest.mark.django_db(transaction=True)


def guest(number: int, *, units: int = 1, network: str = "", email: str = "") -> Placement:
    """The answer to a guest of another mailbox each time, and of another network where none is named."""
    wish = wish_of(
        fill(Holder(), tea=units), email=email or f"guest{number}@example.com", network=network or f"n{number}"
    )
    return place_order(wish)


def minutes_left(order: Order) -> float:
    order.refresh_from_db()
    return (order.expires_at - timezone.now()) / timedelta(minutes=1)


def test_spellings_of_one_mailbox_are_counted_together(settings: LazySettings) -> None:
    assert {mailbox_of(email) for email in ("Li.Lei+1@Example.com", "l.i.l.e.i@example.com")} == {"lilei@example.com"}
    assert mailbox_of("+@example.com") == "+@example.com"
    goods("tea", units=100)
    settings.CHECKOUT_UNPAID_MAX = 2
    spellings = ["li.lei@example.com", "lilei+1@example.com", "LiLei+2@example.com"]
    outcomes = [guest(number, email=email).outcome for number, email in enumerate(spellings)]
    assert outcomes == [PlaceOutcome.PLACED, PlaceOutcome.PLACED, PlaceOutcome.TOO_MANY_UNPAID]


def test_after_a_new_secret_key_unpaid_orders_of_a_mailbox_and_of_a_network_count_on(settings: LazySettings) -> None:
    goods("tea", units=100)
    settings.CHECKOUT_UNPAID_MAX, settings.GUEST_UNPAID_BY_NETWORK_MAX = 2, 3
    before = [guest(number, email="li@example.com", network="192.0.2.1").outcome for number in (1, 2)]
    replace_key(settings)
    assert guest(3, email="li@example.com").outcome is PlaceOutcome.TOO_MANY_UNPAID
    after = [guest(number, network="192.0.2.1").outcome for number in (4, 5)]
    assert [*before, *after] == [PlaceOutcome.PLACED] * 3 + [PlaceOutcome.GUESTS_WAIT]


def test_guests_of_one_network_have_a_bound_and_no_more_at_once_than_one_after_the_other(
    settings: LazySettings,
) -> None:
    goods("tea", units=1000)
    settings.GUEST_UNPAID_BY_NETWORK_MAX = 3
    holders = [fill(Holder(), tea=1) for _ in range(7)]
    calls = [
        partial(place_order, wish_of(holder, email=f"guest{number}@example.com", network="192.0.2.1"))
        for number, holder in enumerate(holders)
    ]
    outcomes = [placement.outcome for placement in at_once(calls)]
    assert sorted(outcomes) == sorted([PlaceOutcome.PLACED] * 3 + [PlaceOutcome.GUESTS_WAIT] * 4)
    assert guest(50, network="192.0.2.2").outcome is PlaceOutcome.PLACED
    # Each order that ends gives its place to another.
    first = Order.objects.order_by("pk")[0]
    assert lifecycle.cancel(order_id=first.pk)
    assert guest(51, network="192.0.2.1").outcome is PlaceOutcome.PLACED
    assert "192.0.2.1" not in str(Order.objects.values())


def test_guests_hold_a_share_of_a_product_and_buyers_the_rest(buyer: User, settings: LazySettings) -> None:
    tea = goods("tea", units=10)
    settings.GUEST_SHARE_PERCENT = 30
    assert guest(1, units=2).outcome is PlaceOutcome.PLACED
    assert guest(2, units=2).outcome is PlaceOutcome.GUESTS_WAIT
    assert guest(3, units=1).outcome is PlaceOutcome.PLACED
    assert guest(4).outcome is PlaceOutcome.GUESTS_WAIT
    assert units_in(tea) == (7, 3, 0)
    assert place_order(wish_of(fill(Holder(buyer_id=buyer.pk), tea=7))).outcome is PlaceOutcome.PLACED
    # A guest who pays holds nothing any more.
    lifecycle.pay(order_id=Order.objects.get(email="guest1@example.com").pk)
    assert units_in(tea) == (0, 8, 2)


def test_the_last_unit_can_be_held_by_a_guest() -> None:
    goods("tea", units=1)
    assert guest(1).outcome is PlaceOutcome.PLACED


def test_the_hold_of_a_guest_is_short_until_a_payment_page_is_opened(settings: LazySettings) -> None:
    settings.GUEST_HOLD_SECONDS = 300
    goods("tea")
    order = guest(1).order
    assert order is not None
    assert 4 < minutes_left(order) <= 5
    start = partial(sessions.start, order_id=order.pk)
    start(idempotency_key="first")
    assert 29 < minutes_left(order) <= 30
    payment = order.payments.get()
    payment.status = "failed"
    payment.save()
    start(idempotency_key="second")
    assert 29 < minutes_left(order) <= 30


def test_the_api_and_the_page_say_what_to_do_next(client: Client, api: APIClient, settings: LazySettings) -> None:
    goods("tea", units=100)
    settings.GUEST_UNPAID_BY_NETWORK_MAX = 1
    assert check_out(api, put(api, tea=1)["Cart-Token"], email="a@example.com").status_code == 201
    answer = check_out(api, put(APIClient(), tea=1)["Cart-Token"], email="b@example.com")
    assert (answer.status_code, answer.json()["code"]) == (409, "guests_wait")
    assert int(answer["Retry-After"]) > 0
    add_to_cart(client, "tea")
    page = client.post("/checkout/", form_of(client, email="c@example.com"))
    assert page.status_code == 409
    assert "Sign in to order now, or try again in some minutes." in page.content.decode()


def test_a_guest_who_wants_more_than_guests_may_have_is_told_how_many_and_not_to_wait(
    client: Client, api: APIClient, settings: LazySettings
) -> None:
    tea = goods("tea", units=10)
    settings.GUEST_SHARE_PERCENT = 30
    answer = check_out(api, put(api, tea=4)["Cart-Token"])
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["lines"][0]["left"]) == (409, "guest_needs_account", 3)
    assert problem["detail"] == "Without an account you can order at most 3 units of “Tea”. Sign in to order more."
    assert "Retry-After" not in answer
    add_to_cart(client, "tea", 4)
    page = client.post("/checkout/", form_of(client))
    assert page.status_code == 409
    assert problem["detail"] in page.content.decode()
    # The units of a whole order are bounded too, for each network.
    settings.GUEST_SHARE_PERCENT, settings.GUEST_UNITS_BY_NETWORK_MAX = 100, 3
    assert client.post("/zh-hans/checkout/", form_of(client)).content.decode().count("每次最多可购买 3 件") == 1
    problem = check_out(api, put(api, tea=4)["Cart-Token"], key="other").json()
    assert (problem["code"], problem["lines"], "retry_after" in problem) == ("guest_needs_account", [], False)
    assert units_in(tea) == (10, 0, 0)
    assert guest(1, units=3, network="192.0.2.1").outcome is PlaceOutcome.PLACED


def test_one_order_takes_no_more_of_a_product_than_it_may_over_all_its_variants(buyer: User, api: APIClient) -> None:
    tea = goods("tea", units=1000)
    Product.objects.filter(pk=tea.product_id).update(order_units_max=3)
    other = Variant.objects.create(product=tea.product, sku="SKU-large", price_minor=1000, available=1000)
    assert place_order(wish_of(fill(Holder(buyer_id=buyer.pk), tea=2, large=5))).outcome is PlaceOutcome.STOCK_CHANGED
    # By the API a cart is written as it was sent, and says what can be bought.
    cart = put(api, tea=2, large=2)
    lines = {line["sku"]: line for line in cart.json()["lines"]}
    assert lines[tea.sku]["changes"] == []
    assert lines[other.sku]["changes"] == ["too_few_left"]
    assert lines[other.sku]["left"] == 1
    assert check_out(api, cart["Cart-Token"]).json()["code"] == "stock_changed"
    assert check_out(api, put(api, cart["Cart-Token"], tea=2, large=1)["Cart-Token"]).status_code == 201


def test_the_cart_says_how_many_one_order_may_have(client: Client) -> None:
    tea = goods("tea", units=1000)
    Product.objects.filter(pk=tea.product_id).update(order_units_max=3)
    add_to_cart(client, "tea", 9)
    assert client.get("/cart/").context["contents"].units == 3
    Product.objects.filter(pk=tea.product_id).update(order_units_max=2)
    assert "At most 2 in one order" in client.get("/cart/").content.decode()


def test_guests_of_one_network_hold_no_more_units_than_it_may(settings: LazySettings) -> None:
    """Each mailbox is another one, and no product is held up to its share."""
    settings.GUEST_UNITS_BY_NETWORK_MAX = 5
    variants = [goods(slug, units=100) for slug in ("tea", "cup")]
    carts = [fill(Holder(), **units_of) for units_of in ({"tea": 2, "cup": 1}, {"tea": 2, "cup": 1}, {"tea": 2})]
    wishes = [wish_of(cart, email=f"g{number}@example.com", network="192.0.2.1") for number, cart in enumerate(carts)]
    outcomes = [place_order(wish).outcome for wish in wishes]
    assert outcomes == [PlaceOutcome.PLACED, PlaceOutcome.GUESTS_WAIT, PlaceOutcome.PLACED]
    assert [units_in(variant)[1] for variant in variants] == [4, 1]
