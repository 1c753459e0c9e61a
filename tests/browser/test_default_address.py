"""A won unit is paid without a form in between, and who has no address is asked before the opening."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page, expect

from orders.models import Order, Payment
from seckill.models import SaleItem
from shop.models import Address, Product
from tests.browser.conftest import width_of
from tests.steps.buying import ADDRESS
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[BrowserContext, User], None]


def test_from_the_button_to_the_payment_page_on_a_phone(
    live_shop: str, browser: Browser, sign_in: SignIn, buyer: User, item: SaleItem
) -> None:
    Address.objects.create(user=buyer, is_default=True, **ADDRESS)
    phone = browser.new_context(viewport={"width": 390, "height": 844}, locale="zh-CN", is_mobile=True)
    sign_in(phone, buyer)
    page = phone.new_page()
    seen: list[str] = []
    page.on("framenavigated", lambda frame: seen.append(frame.url))
    page.goto(f"{live_shop}/zh-hans/sales/{item.sale_id}/")
    page.click("[data-buy]")
    page.wait_for_url(re.compile(r"/orders/[0-9a-f-]{36}/"))
    expect(page.locator("#change-delivery")).to_have_text("修改")
    expect(page.locator("#order")).to_contain_text(ADDRESS["line1"])
    assert width_of(page) == 390
    page.click("#pay")
    page.wait_for_url("**/pay/simulated/*/")
    assert not [url for url in seen if url.endswith("/address/")]
    assert Payment.objects.get().order == Order.objects.get()
    phone.close()


def test_a_buyer_who_waits_for_the_start_saves_an_address_in_another_tab(
    live_shop: str, page: Page, sign_in: SignIn, buyer: User, product: Product
) -> None:
    item = make_item(product, opens_in_seconds=300)
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    page.click("[data-buy]")
    asked = page.locator("[data-outcome] a")
    expect(asked).to_have_text("Save a delivery address now, in a new tab, and pay at once afterwards.")
    with page.context.expect_page() as opened:
        asked.click()
    form = opened.value
    form.select_option("[name=region]", "浙江省")
    form.select_option("select[name=city]", "杭州市")
    # The list of the districts follows the city.
    form.select_option("select[name=district]", "西湖区")
    for name, value in {"name": "王小明", "phone": "13800138000", "line1": "文三路 478 号"}.items():
        form.fill(f"[name={name}]", value)
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_text("The address is saved.")).to_be_visible()
    form.close()
    # The page still waits for the start, and asks no more.
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(asked).to_have_count(0)
    expect(page.locator("[data-buy]")).to_contain_text("Waiting for the start")
    saved = Address.objects.get()
    assert (saved.region, saved.city, saved.district, saved.is_default) == ("浙江省", "杭州市", "西湖区", True)
