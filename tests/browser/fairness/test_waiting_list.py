"""The waiting list on the sale's page: joining what is gone, the place, another device, leaving, units that come."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from orders.life import intake, lifecycle
from seckill.line.waiting_list import sweep_lines
from seckill.models import SaleItem
from shop.models import Product
from tests.browser.conftest import NewPage, sign_in
from tests.browser.order_to_pay import order_to_pay
from tests.browser.screen import HeldAnswers
from tests.steps.buying import reserve
from tests.steps.shop import make_item
from tests.steps.waiting import join, waiting


@pytest.fixture
def item(product: Product, rival: User) -> SaleItem:
    """One unit, which the rival holds, and a waiting list."""
    item = make_item(product, quantity=1, waiting_list=True)
    sweep_lines()
    order_to_pay(item, rival)
    return item


@pytest.fixture
def sale_page(live_shop: str, page: Page, buyer: User, item: SaleItem) -> Page:
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    return page


def test_a_buyer_who_joins_sees_the_place_and_gets_the_units(
    sale_page: Page, item: SaleItem, rival: User, stranger: User
) -> None:
    page, first = sale_page, join(item, stranger)
    # Reached and pressed by keyboard.
    page.locator("[data-line]").focus()
    page.keyboard.press("Enter")
    said = page.locator("[data-outcome]")
    expect(said).to_contain_text("You are number 2 in line for 1 × Longjing tea")
    expect(said).to_contain_text("We cannot say whether enough will come back.")
    expect(page.locator("form.buy")).to_be_hidden()
    expect(page.locator("[data-line]")).to_have_text("Leave the waiting list")
    # When the one before gets the unit and cancels it, it comes here.
    lifecycle.cancel(order_id=rival.orders.get().pk)
    expect(said).to_contain_text("You are number 1 in line", timeout=15_000)
    intake.drain_all(item_id=item.pk)
    lifecycle.cancel(order_id=stranger.orders.get(reservation_id=first).pk)
    expect(said).to_contain_text("Reserved for you: 1 × Longjing tea", timeout=15_000)
    expect(page.locator("[data-line]")).to_be_hidden()


def test_another_session_and_another_device_show_the_place_and_leaving_ends_it_everywhere(
    sale_page: Page, live_shop: str, new_page: NewPage, buyer: User, item: SaleItem
) -> None:
    page = sale_page
    page.click("[data-line]")
    place = "You are number 1 in line"
    expect(page.locator("[data-outcome]")).to_contain_text(place)
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    # The page asks for its place every ten seconds or so. A reload may find that nobody is signed in.
    expect(page.locator("[data-outcome]")).to_contain_text("You are signed out", timeout=40_000)
    sign_in(page.context, buyer)
    page.reload()
    expect(page.locator("[data-outcome]")).to_contain_text(place)
    other = new_page(buyer, locale="zh-CN")
    other.goto(f"{live_shop}/zh-hans/sales/{item.sale_id}/")
    expect(other.locator("[data-outcome]")).to_contain_text("您排在候补第 1 位：1 × 龙井茶")
    other.click("[data-line]")
    expect(other.locator("[data-outcome]")).to_contain_text("您已退出候补名单。")
    expect(other.locator("[data-line]")).to_have_text("加入候补")
    assert waiting(item) == 0
    expect(page.locator("[data-outcome]")).to_contain_text("Your place in the waiting list has ended", timeout=15_000)


def test_a_number_that_is_just_being_typed_stays_and_no_place_is_asked_for_without_one(
    live_shop: str, page: Page, buyer: User, rival: User, product: Product
) -> None:
    # Given more units than a list has choices, all held, and a buyer who clears the number before the limit is known
    item = make_item(product, quantity=12, per_buyer_max=12, waiting_list=True)
    sweep_lines()
    reserve(item, buyer, units=1)
    reserve(item, rival, units=11)
    sign_in(page.context, buyer)
    answers = HeldAnswers(page)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    answers.wait()
    number = page.locator("[name=units]")
    number.fill("")
    # When it is, then the field is still empty
    answers.give()
    expect(page.locator("[data-limit]")).to_have_text("You have 1 of at most 12; you can still take 11.")
    expect(number).to_have_value("")
    # And nobody joins the waiting list for no units
    page.locator("[data-line]").focus()
    page.keyboard.press("Enter")
    expect(number).to_be_focused()
    expect(page.locator("[data-line]")).to_have_text("Join the waiting list")
    assert waiting(item) == 0
