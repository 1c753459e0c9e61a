"""Before and during a payment in a real browser: a page that follows its order, and the form of an address."""

import re

from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from seckill.models import SaleItem
from shop.models import Address, Product
from tests.browser.conftest import sign_in
from tests.browser.order_to_pay import open_order, order_to_pay, start_payment
from tests.browser.screen import HeldAnswers
from tests.steps.shop import make_item


def test_a_buyer_who_leaves_the_payment_page_goes_on_paying_by_keyboard_while_the_page_reads_itself_anew(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    sign_in(page.context, buyer)
    order = order_to_pay(item, buyer)
    open_order(page, live_shop, order)
    start_payment(page)
    page.wait_for_url("**/pay/simulated/*/")
    first = page.url
    page.get_by_role("link", name="Return to the shop without paying").click()
    page.wait_for_url(re.compile(r"/orders/[0-9a-f-]{36}/(\?payment=\w+)?$"))
    expect(page.locator(".order-state")).to_contain_text("You have not paid yet.")
    page.focus("#pay")
    with page.expect_response(lambda response: "hx-request" in response.request.headers):
        pass
    expect(page.locator(".htmx-request, .htmx-settling, .htmx-swapping")).to_have_count(0)
    expect(page.locator("#pay")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/pay/simulated/*/")
    assert page.url == first
    # And where they are signed out meanwhile, the page leads to sign in.
    open_order(page, live_shop, order)
    page.context.clear_cookies(name="sessionid")
    page.wait_for_url(re.compile(r"/accounts/login/\?next=/orders/"))


def test_a_page_that_waits_for_the_start_asks_for_an_address_until_one_is_saved_in_another_tab(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    # Given a page that waits for the start of a sale
    item = make_item(product, opens_in_seconds=300)
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    page.click("[data-buy]")
    asked = page.locator("[data-outcome] a")
    expect(asked).to_have_text("Save a delivery address now, in a new tab, and pay at once afterwards.")
    with page.context.expect_page() as opened:
        asked.click()
    # When it is seen again, and its question is under way while the address is saved
    answers = HeldAnswers(page)
    look_again = "document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(look_again)
    answers.wait()
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
    page.evaluate(look_again)
    answers.give()
    # Then it still waits for the start, and asks no more
    expect(asked).to_have_count(0)
    expect(page.locator("[data-buy]")).to_contain_text("Waiting for the start")
    saved = Address.objects.get()
    assert (saved.region, saved.city, saved.district, saved.is_default) == ("浙江省", "杭州市", "西湖区", True)


def test_a_province_that_is_chosen_before_the_scripts_have_come_has_its_cities(
    live_shop: str, page: Page, buyer: User
) -> None:
    sign_in(page.context, buyer)
    held: list[Route] = []
    page.route("**/htmx*", lambda route: held.append(route))
    page.goto(f"{live_shop}/accounts/addresses/new/", wait_until="commit")
    page.select_option("[name=region]", "浙江省")
    assert page.locator("select[name=city]").count() == 0
    held[0].continue_()
    page.select_option("select[name=city]", "杭州市")
    page.select_option("select[name=district]", "西湖区")
