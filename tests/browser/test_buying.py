"""Buying in a real browser from a whole shop: web server, worker and beat, and the order through the outbox."""

import re
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from orders.models import Mail, Order, OrderStatus, Payment
from seckill.models import SaleItem
from shop.models import Product
from tests.browser.conftest import focus_by_tab, sign_in
from tests.browser.screen import HeldAnswers
from tests.steps.buying import ADDRESS
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold

# The visitor's own clock is two minutes ahead.
FAST_CLOCK = """const right = Date.now;
Date.now = () => right() + 120_000;
Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + 120_000 });"""
FULL_STORAGE = 'Storage.prototype.setItem = () => { throw new DOMException("", "QuotaExceededError"); };'
FORBIDDEN_STORAGE = """for (const kind of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, kind, { get() { throw new DOMException("", "SecurityError"); } });"""


def test_a_buyer_on_a_fast_clock_gets_ready_by_keyboard_has_the_order_after_the_start_and_pays(
    live_shop: str, page: Page, buyer_with_password: User, product: Product
) -> None:
    # Given a sale that opens in a moment, and a buyer with nothing but a keyboard, whose clock says that it has opened
    User.objects.filter(pk=buyer_with_password.pk).update(email="buyer@example.com")
    item = make_item(product, opens_in_seconds=25)
    page.add_init_script(FAST_CLOCK)
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

    # When they press the button before the start, think twice, press it again, and read the page once more
    focus_by_tab(page, "Reserve at the start")
    page.keyboard.press("Enter")
    button, outcome = page.locator("[data-buy]"), page.locator("[data-outcome]")
    expect(outcome).to_contain_text("This page will reserve 1 × Longjing tea for you at the start.")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(outcome).to_contain_text("Cancelled")
    page.keyboard.press("Enter")
    expect(button).to_contain_text("Waiting for the start")
    # The page begins by their clock, since the shop takes its time to say how late it is.
    answers = HeldAnswers(page, "**/live/")
    page.reload()
    expect(button).to_have_attribute("aria-disabled", "false")
    answers.give()
    expect(outcome).to_contain_text("This page will reserve 1 × Longjing tea for you at the start.")
    expect(button).to_contain_text("Waiting for the start")

    # Then the page reserves at the start by itself, says yes, and goes on to the order
    with page.expect_request("**/reservations/", timeout=40_000) as asked:
        pass
    # One unit is asked for without a body: receiving one is a third of what a refusal costs the shop.
    assert asked.value.post_data is None
    expect(outcome).to_contain_text("Reserved for you: 1 × Longjing tea")
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

    # When they pay on the payment page, and money takes its time
    page.go_back()
    page.get_by_role("button", name="Pay CN¥19.00").click()
    page.wait_for_url("**/address/")
    expect(page.locator("main")).to_contain_text("The price includes delivery.")
    for name, value in ADDRESS.items():
        field = page.locator(f"[name={name}]")
        field.select_option(value) if name == "country" else field.fill(value)
    page.get_by_role("button", name="Save and pay CN¥19.00").click()
    page.wait_for_url("**/pay/simulated/*/")
    page.click("button[value=pay_slowly]")

    # Then the page they come back to says that it waits, and of itself that the order is paid
    expect(page.locator(".order-state")).to_contain_text("We are waiting for your payment to be confirmed.")
    assert Order.objects.get().status == OrderStatus.AWAITING_PAYMENT
    expect(page.locator(".status")).to_have_text("paid", timeout=30_000)
    expect(page.locator("#announcer")).to_have_text("Longjing tea: paid")
    expect(page.locator(".order-state")).to_contain_text("We have received your payment. Thank you!")
    expect(page.locator("#pay")).to_have_count(0)

    # And the unit is sold, once, and the mail about it owed
    assert Payment.objects.get().status == Payment.Status.CAPTURED
    assert left_held_sold(item) == (4, 0, 1)
    assert Mail.objects.get().kind == Mail.Kind.PAID


@pytest.mark.parametrize("storage", [FULL_STORAGE, FORBIDDEN_STORAGE], ids=["full", "forbidden"])
def test_a_browser_that_stores_nothing_asks_again_for_a_lost_answer_and_reserves_once(
    live_shop: str, page: Page, buyer: User, item: SaleItem, storage: str
) -> None:
    # Given a connection that loses the first answer, though the shop has heard the call
    page.add_init_script(storage)
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
