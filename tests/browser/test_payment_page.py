"""The simulated payment page in a browser: on a phone, by keyboard, in Chinese, without JavaScript."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from orders.models import Order, OrderStatus, Payment
from orders.payments import sessions
from seckill.models import SaleItem
from tests.browser.conftest import NewPage, sign_in
from tests.browser.order_to_pay import order_to_pay
from tests.processes import wait_until

PHONE = {"width": 360, "height": 640}


def payment_page(item: SaleItem, buyer: User) -> Payment:
    """A payment whose page is open."""
    start = sessions.start(order_id=order_to_pay(item, buyer).pk, idempotency_key="key")
    assert start.payment is not None
    return start.payment


def test_a_payment_on_a_phone_by_keyboard(live_shop: str, page: Page, item: SaleItem, buyer: User) -> None:
    # Given the payment page of an order, on a small screen
    payment = payment_page(item, buyer)
    sign_in(page.context, buyer)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto(live_shop + payment.url)
    expect(page.get_by_role("heading", name="Simulated payment")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    # When the buyer comes to the button by Tab and presses Enter
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "pay":
            break
    page.keyboard.press("Enter")

    # Then they are back at the order, which says by itself that it is paid once the message has come
    expect(page).to_have_url(f"{live_shop}{payment.order.get_absolute_url()}?payment=returned")
    expect(page.locator(".status").first).to_have_text("paid", timeout=30_000)
    # And the page has nothing to press any more
    page.goto(live_shop + payment.url)
    expect(page.get_by_text("Payment complete.")).to_be_visible()
    expect(page.locator("[name=action]")).to_have_count(0)


@pytest.mark.parametrize(("action", "status"), [("pay_slowly", OrderStatus.PAID), ("decline", "awaiting_payment")])
def test_a_payment_in_chinese_without_javascript(
    live_shop: str, new_page: NewPage, item: SaleItem, buyer: User, action: str, status: str
) -> None:
    payment = payment_page(item, buyer)
    page = new_page(buyer, java_script_enabled=False, locale="zh-CN", viewport=PHONE)
    page.goto(f"{live_shop}/zh-hans{payment.url}")
    expect(page.get_by_role("heading", name="模拟支付")).to_be_visible()
    page.locator(f"[value={action}]").click()
    expect(page).to_have_url(re.compile(payment.order.get_absolute_url()))
    wait_until(Payment.objects.filter(pk=payment.pk).exclude(status=Payment.Status.PENDING).exists, seconds_max=30)
    assert Order.objects.get().status == status
