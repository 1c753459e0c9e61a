"""Buying in a real browser from a whole shop: web server, worker and beat, and the order through the outbox."""

import json
import re
import time
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from orders.models import Order, OrderStatus
from seckill import ledger
from seckill.ledger_words import Confirmed
from seckill.models import SaleItem
from seckill.passes import passes
from shop.models import Product
from tests.browser.conftest import focus_by_tab, sign_in
from tests.browser.order_to_pay import open_order, order_to_pay
from tests.steps.shop import make_item, make_product

FULL_STORAGE = 'Storage.prototype.setItem = () => { throw new DOMException("", "QuotaExceededError"); };'
FORBIDDEN_STORAGE = """for (const kind of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, kind, { get() { throw new DOMException("", "SecurityError"); } });"""


def buy_all(item: SaleItem, rival: User) -> None:
    """The rival takes and pays for all there is."""
    reservation_id = passes.new_reservation_id(item.pk)
    ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=rival.pk, units=item.quantity or 1)
    assert ledger.confirm(item_id=item.pk, reservation_ids=[reservation_id]) == [Confirmed.CONFIRMED]


def test_a_buyer_gets_ready_by_keyboard_and_has_the_order_after_the_start(
    live_shop: str, page: Page, buyer_with_password: User, product: Product
) -> None:
    # Given a sale that opens in a moment, and a buyer with nothing but a keyboard
    item = make_item(product, opens_in_seconds=25)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    focus_by_tab(page, "Sign in to buy")
    page.keyboard.press("Enter")
    page.wait_for_url("**/accounts/login/**")
    focus_by_tab(page, "login")
    page.keyboard.type("buyer")
    page.keyboard.press("Tab")
    page.keyboard.type("a-good-password")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"^[^?]*/sales/{item.sale_id}/"))

    # When they press the button before the start, think twice, and press it again
    focus_by_tab(page, "Reserve at the start")
    page.keyboard.press("Enter")
    button, outcome = page.locator("[data-buy]"), page.locator("[data-outcome]")
    expect(outcome).to_contain_text("This page will reserve 1 × Longjing tea for you at the start.")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(outcome).to_contain_text("Cancelled")
    page.keyboard.press("Enter")
    expect(button).to_contain_text("Waiting for the start")

    # Then the page reserves at the start by itself, says yes, and goes on to the order
    expect(outcome).to_contain_text("Reserved for you: 1 × Longjing tea", timeout=40_000)
    assert time.time() >= item.sale.opens_at.timestamp()
    page.wait_for_url("**/orders/*/")
    expect(page.locator(".status")).to_have_text("awaiting payment")
    expect(page.locator("#order .countdown")).to_have_text(re.compile(r"1[45]:\d\d"))

    # And my orders shows it, with the time that remains
    focus_by_tab(page, "My orders")
    page.keyboard.press("Enter")
    page.wait_for_url("**/orders/")
    expect(page.locator("[data-order]")).to_have_count(1)
    expect(page.locator("[data-order]")).to_contain_text("1 × CN¥19.00")
    expect(page.locator("[data-order] .countdown")).to_have_text(re.compile(r"1[45]:\d\d"))
    order = Order.objects.get(buyer=buyer_with_password)

    # And when the shop records the payment, the page says so by itself
    assert Order.objects.filter(pk=order.pk).update(status=OrderStatus.PAID, ended_at=order.reserved_at)
    expect(page.locator(".status")).to_have_text("paid", timeout=10_000)
    expect(page.locator("#announcer")).to_have_text("Longjing tea: paid")


SOLD_OUT = {
    "en": ("Sold out", "All units have been sold."),
    "zh-hans": ("已售罄", "商品已全部售出。"),
}


def test_sold_out_is_said_in_words_of_either_language(live_shop: str, page: Page, buyer: User, rival: User) -> None:
    sign_in(page.context, buyer)
    for language, (title, detail) in SOLD_OUT.items():
        # Given the last unit, and a page that does not know yet what the rival has just done
        product = make_product(name="Longjing tea", slug=language, price_minor=9900)
        item = make_item(product, quantity=1)
        live = page.request.get(f"{live_shop}/api/v1/sales/{item.sale_id}/live/").json()
        frozen = json.dumps({**live, "poll_after_ms": 60_000})
        page.route("**/live/", partial(Route.fulfill, content_type="application/json", body=frozen))
        page.goto(f"{live_shop}/sales/{item.sale_id}/")
        if language != "en":
            page.click(f"button[value={language}]")
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("[data-buy]")).to_have_attribute("aria-disabled", "false")
        buy_all(item, rival)

        # When the buyer presses
        page.click("[data-buy]")

        # Then the refusal is in words; the button says so too, and stays where the keyboard finds it
        expect(page.locator("[data-outcome]")).to_contain_text(title)
        expect(page.locator("[data-outcome]")).to_contain_text(detail)
        expect(page.locator("[data-buy]")).to_have_text(title)
        expect(page.locator("[data-buy]")).to_have_attribute("aria-disabled", "true")
        expect(page.locator("[data-buy]")).to_be_focused()
        page.unroute("**/live/")


def test_a_lost_answer_is_asked_for_again_and_reserves_once(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    # Given a connection that loses the first answer, though the shop has heard the call
    lost: list[Any] = []

    def lose_the_first_answer(route: Route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().status)
        route.fulfill(status=503, content_type="application/problem+json", body='{"code": "unavailable"}')

    page.route("**/reservations/", lose_the_first_answer)
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")

    # When the buyer reserves
    page.click("[data-buy]")

    # Then the page repeats the call with the same pass, and there is one order
    page.wait_for_url("**/orders/*/")
    assert lost == [201]
    assert Order.objects.filter(buyer=buyer).count() == 1
    page.unroute("**/reservations/")


@pytest.mark.parametrize("storage", [FULL_STORAGE, FORBIDDEN_STORAGE], ids=["full", "forbidden"])
def test_a_browser_that_stores_nothing_reserves_once_and_goes_to_the_order(
    live_shop: str, page: Page, buyer: User, item: SaleItem, storage: str
) -> None:
    page.add_init_script(storage)
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    page.click("[data-buy]")
    page.wait_for_url("**/orders/*/")
    assert Order.objects.filter(buyer=buyer).count() == 1


def test_a_buyer_who_is_signed_out_meanwhile_is_led_to_sign_in(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    sign_in(page.context, buyer)
    open_order(page, live_shop, order_to_pay(item, buyer))
    page.context.clear_cookies(name="sessionid")
    page.wait_for_url(re.compile(r"/accounts/login/\?next=/orders/"))
    expect(page.locator("h1")).to_have_text("Sign in")
