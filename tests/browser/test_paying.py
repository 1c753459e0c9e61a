"""Paying and cancelling in a real browser: the payment page is another company's, and its word comes by webhook."""

import re

from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, Route, expect

from orders.models import Mail, Order, OrderStatus, Payment
from seckill.models import SaleItem
from shop.models import Address, Product
from tests.browser.conftest import sign_in
from tests.browser.order_to_pay import fill_address, open_order, order_to_pay, start_payment
from tests.browser.screen import HeldAnswers
from tests.steps.buying import ADDRESS
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold

AN_ORDER = re.compile(r"/orders/[0-9a-f-]{36}/(\?payment=\w+)?$")


def press(page: Page, button: str) -> None:
    """On the payment page; the company leads back to the order."""
    page.wait_for_url("**/pay/simulated/*/")
    page.click(f"button[value={button}]")
    page.wait_for_url(AN_ORDER)


def test_a_buyer_signs_in_reserves_pays_and_sees_the_order_paid(
    live_shop: str, page: Page, buyer_with_password: User, item: SaleItem
) -> None:
    # Given a buyer with an address, who signs in and reserves
    User.objects.filter(pk=buyer_with_password.pk).update(email="buyer@example.com")
    page.goto(f"{live_shop}/accounts/login/?next=/sales/{item.sale_id}/")
    page.fill("[name=login]", "buyer")
    page.fill("[name=password]", "a-good-password")
    page.click("main button")
    # With its scripts: without them the button leads to a page in between.
    page.wait_for_url("**/sales/*/")
    with page.expect_request("**/reservations/") as asked:
        page.click("[data-buy]")
    # One unit is asked for without a body: receiving one is a third of what a refusal costs the shop.
    assert asked.value.post_data is None
    page.wait_for_url(AN_ORDER)

    # When they pay on the payment page, and money takes its time
    page.get_by_role("button", name="Pay CN¥19.00").click()
    page.wait_for_url("**/address/")
    expect(page.locator("main")).to_contain_text("The price includes delivery.")
    fill_address(page)
    page.get_by_role("button", name="Save and pay CN¥19.00").click()
    press(page, "pay_slowly")

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


def test_a_buyer_who_leaves_the_payment_page_goes_on_paying_by_keyboard_while_the_page_reads_itself_anew(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    sign_in(page.context, buyer)
    open_order(page, live_shop, order_to_pay(item, buyer))
    start_payment(page)
    page.wait_for_url("**/pay/simulated/*/")
    first = page.url
    page.get_by_role("link", name="Return to the shop without paying").click()
    page.wait_for_url(AN_ORDER)
    expect(page.locator(".order-state")).to_contain_text("You have not paid yet.")
    page.focus("#pay")
    with page.expect_response(lambda response: "hx-request" in response.request.headers):
        pass
    expect(page.locator(".htmx-request, .htmx-settling, .htmx-swapping")).to_have_count(0)
    expect(page.locator("#pay")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/pay/simulated/*/")
    assert page.url == first


def asks_for_address(page: Page, live_shop: str, product: Product) -> Locator:
    """The page waits for the start of a sale, and its link leads to the form for an address."""
    item = make_item(product, opens_in_seconds=300)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    page.click("[data-buy]")
    asked = page.locator("[data-outcome] a")
    expect(asked).to_have_text("Save a delivery address now, in a new tab, and pay at once afterwards.")
    return asked


def test_a_buyer_who_waits_for_the_start_saves_an_address_in_another_tab(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    sign_in(page.context, buyer)
    asked = asks_for_address(page, live_shop, product)
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


def test_an_address_that_is_saved_while_the_page_asks_is_heard_of(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    sign_in(page.context, buyer)
    asked = asks_for_address(page, live_shop, product)
    answers = HeldAnswers(page)
    look_again = "document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(look_again)
    answers.wait()
    Address.objects.create(user=buyer, is_default=True, **ADDRESS)
    page.evaluate(look_again)
    answers.give()
    expect(asked).to_have_count(0)
