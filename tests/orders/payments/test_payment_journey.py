"""Payments through the whole shop as processes: real HTTP, the page as a browser without JavaScript sees it, webhooks
that a worker delivers. Read as Given / When / Then."""

import http.cookiejar
import json
import re
import time
import urllib.parse
import urllib.request
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from knox.models import get_token_model

from orders.models import Attention, Order, Payment
from seckill.models import SaleItem
from seckill.passes import passes
from shop.models import Product
from tests.processes import wait_until
from tests.steps.shop import make_item
from tests.steps.store import figures

pytestmark = pytest.mark.django_db(transaction=True)

# Much longer than needed on an idle machine.
PATIENCE_SECONDS = 60.0


class Shopper:
    """A buyer: an API client, and a browser for the payment page."""

    def __init__(self, user: User, base_url: str) -> None:
        _, token = get_token_model().objects.create(user=user)
        self.user, self.base_url, self.bearer = user, base_url, f"Bearer {token}"
        # Directly to the shop: ignore proxies in the environment.
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)

    def call(self, method: str, path: str, *, said: Any = None, **headers: str) -> dict[str, Any]:
        body = json.dumps(said if said is not None else {}).encode() if method == "POST" else None
        headers = {"Authorization": self.bearer, "Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.base_url + path, body, headers, method=method)
        with self.browser.open(request, timeout=20) as answer:
            answered: dict[str, Any] = json.load(answer)
        return answered

    def reserve(self, item: SaleItem) -> str:
        """Reserve a unit and wait for the order. Returns its number."""
        text = passes.issue(item_id=item.pk, buyer_id=self.user.pk, expires_s=int(time.time()) + 600)
        path = f"/api/v1/sale-items/{item.pk}/reservations/"
        status_url = self.call("POST", path, Authorization=f"Pass {text}")["status_url"]
        return str(self.wait_for(status_url, lambda status: status["order"])["order"])

    def open_page(self, number: str) -> str:
        return str(self.call("POST", f"/api/v1/orders/{number}/pay/", **{"Idempotency-Key": "key"})["url"])

    def press(self, url: str, action: str) -> str:
        """Press a button of the page. Returns where that leads."""
        with self.browser.open(url, timeout=20) as page:
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.read().decode())
        assert token
        form = urllib.parse.urlencode({"csrfmiddlewaretoken": token[1], "action": action}).encode()
        with self.browser.open(urllib.request.Request(url, form, {"Referer": url}), timeout=20) as page:
            return str(page.geturl())

    def wait_for(self, path: str, good: Any) -> dict[str, Any]:
        give_up_s = time.monotonic() + PATIENCE_SECONDS
        while not good(answer := self.call("GET", path)):
            assert time.monotonic() < give_up_s, answer
            time.sleep(0.1)
        return answer

    def wait_for_status(self, number: str, status: str) -> None:
        self.wait_for(f"/api/v1/orders/{number}/", lambda order: order["status"] == status)


def test_payments_and_refunds_go_through_the_whole_shop(
    product: Product, buyer: User, rival: User, stranger: User, live_shop: str
) -> None:
    # Given a sale, and three buyers with an order each
    item = make_item(product, quantity=3, hold_seconds=120)
    one, two, three = (Shopper(user, live_shop) for user in (buyer, rival, stranger))
    first, second, third = one.reserve(item), two.reserve(item), three.reserve(item)

    # When the first pays on the page, the second gives back, and the third pays slowly, beyond the deadline
    back = one.press(one.open_page(first), "pay")
    two.open_page(second)
    two.call("POST", f"/api/v1/orders/{second}/cancel/", **{"Idempotency-Key": "key"})
    page = three.open_page(third)
    three.press(page, "pay_slowly")
    Order.objects.filter(number=third).update(expires_at=F("reserved_at"))

    # Then the first is paid, and was led back to the shop, where the page asks who they are
    one.wait_for_status(first, "paid")
    assert urllib.parse.urlsplit(back).path in (f"/orders/{first}/", "/accounts/login/")
    # And the second's page is closed by the sweep
    payment = Payment.objects.filter(order__number=second)
    wait_until(lambda: payment.get().status == Payment.Status.FAILED, seconds_max=PATIENCE_SECONDS)
    # And the third's late money takes the unit again, which nobody else has by now
    three.wait_for_status(third, "paid")
    assert Order.objects.get(number=third).attention == Attention.LATE_PAYMENT_KEPT
    wait_until(lambda: figures(item) == (1, 0, 2, 2), seconds_max=PATIENCE_SECONDS)
