"""Attempts are counted by account, network and device, so that neither many accounts nor many addresses help alone."""

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse
from rest_framework.test import APIClient

from orders.models import OrderStatus
from seckill.models import SaleItem
from shop.accounts.known_places import COOKIE
from shop.accounts.limits import take_of_client
from shop.http.rate_limits import LimitReached
from shop.models import Product
from tests.steps.buying import new_buyers, order_of, status_of
from tests.steps.paying import press_cancel
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def item(product: Product) -> SaleItem:
    return make_item(product, quantity=50)


def attempts(count: int, *, account: object = None, address: str = "192.0.2.1", cookie: str = "", **rates: str) -> int:
    """How many of so many attempts are let through."""
    request = RequestFactory().post("/", REMOTE_ADDR=address)
    request.COOKIES = {COOKIE: cookie} if cookie else {}
    through = 0
    for _ in range(count):
        try:
            take_of_client(request, action="test", account=account, **rates)
        except LimitReached:
            continue
        through += 1
    return through


def cookie_of(buyer: User) -> str:
    browser = Client()
    browser.post(reverse("account_login"), {"login": buyer.username, "password": "buyer-password"})
    return browser.cookies[COOKIE].value


def test_each_of_the_three_counts_alone(buyer: User) -> None:
    rates = {"by_account": "3/minute", "by_network": "5/minute"}
    assert attempts(9, account=1, **rates) == 3
    assert attempts(9, account=2, **rates) == 2
    assert attempts(9, account=3, address="198.51.100.1", **rates) == 3
    device = cookie_of(buyer)
    assert attempts(9, cookie=device, by_device="2/minute") == 2
    assert attempts(9, cookie=device, address="198.51.100.2", by_device="2/minute") == 0
    assert attempts(9, by_device="2/minute") == 9
    # The network of an address of IPv6 has 64 bits.
    assert sum(attempts(1, address=f"2001:db8::{number:x}", by_network="3/minute") for number in range(1, 9)) == 3


def test_many_accounts_of_one_network_cannot_take_and_cancel_in_turn(item: SaleItem, settings: LazySettings) -> None:
    settings.CANCEL_LIMIT_BY_NETWORK = "4/10minutes"
    orders = [order_of(item, who) for who in new_buyers(7)]
    codes = []
    for order in orders:
        client = APIClient(REMOTE_ADDR="192.0.2.9")
        client.force_authenticate(order.buyer)
        codes.append(press_cancel(client, order.number).status_code)
    assert codes == [200] * 4 + [429] * 3
    assert [status_of(order) for order in orders].count(OrderStatus.CANCELLED) == 4


def test_a_browser_that_signs_up_accounts_from_many_addresses_is_stopped(buyer: User, settings: LazySettings) -> None:
    settings.SIGN_UP_LIMIT = "3/10minutes"
    device, codes = cookie_of(buyer), []
    for number in range(6):
        browser = Client(REMOTE_ADDR=f"192.0.2.{number}")
        browser.cookies[COOKIE] = device
        form = {"username": f"new{number}", "email": f"new{number}@example.com"}
        form |= {"password1": "a-Good-pass-word", "password2": "a-Good-pass-word"}
        codes.append(browser.post(reverse("account_signup"), form).status_code)
    assert codes == [302] * 3 + [429] * 3
