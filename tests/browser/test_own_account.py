"""A person and their own account in a browser: a second factor, a copy of the data, the end of the account."""

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import BrowserContext, Page, expect

from orders.models import Order, OrderStatus, ShippingAddress
from seckill.models import SaleItem
from tests.steps.accounts import code_of, latest_code_of
from tests.steps.buying import ADDRESS, make_orders

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[BrowserContext, User], None]

PASSWORD = "a-good-password"


def enter_password(page: Page, shop: str) -> None:
    page.goto(f"{shop}/accounts/login/")
    page.fill("[name=login]", "buyer")
    page.fill("[name=password]", PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


def confirm_password(page: Page) -> None:
    """The page that asks for it before something that matters."""
    page.wait_for_url("**/accounts/reauthenticate/**")
    page.fill("[name=password]", PASSWORD)
    page.click("main form button")


def enter_code(page: Page, code: str) -> None:
    page.wait_for_url("**/2fa/authenticate/")
    page.fill("[name=code]", code)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


def test_the_second_factor_is_turned_on_and_asked_for(live_shop: str, page: Page, buyer_with_password: User) -> None:
    # Given a buyer who turns it on
    enter_password(page, live_shop)
    page.wait_for_url(f"{live_shop}/")
    page.goto(f"{live_shop}/accounts/2fa/")
    page.get_by_role("link", name="Turn it on").click()
    confirm_password(page)
    expect(page.get_by_role("img", name="QR code with the secret below")).to_be_visible()
    secret = page.locator("main code").inner_text()
    page.fill("[name=code]", "000000")
    page.get_by_role("button", name="Turn it on").click()
    expect(page.get_by_role("alert")).to_be_visible()
    secret = page.locator("main code").inner_text()
    page.fill("[name=code]", code_of(secret))
    page.get_by_role("button", name="Turn it on").click()
    expect(page.locator("main code")).to_have_count(10)
    recovery_codes = page.locator("main code").all_inner_texts()
    # When they sign in again, then the password is not enough, and a wrong code neither
    page.get_by_role("button", name="Sign out").click()
    enter_password(page, live_shop)
    enter_code(page, "111111")
    expect(page.get_by_role("alert")).to_be_visible()
    # And the code of the app signs in, and without the phone a recovery code does, once
    enter_code(page, latest_code_of(secret))
    page.wait_for_url(f"{live_shop}/")
    page.goto(f"{live_shop}/accounts/2fa/")
    expect(page.get_by_text("You have 10 recovery codes left.")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    enter_password(page, live_shop)
    enter_code(page, recovery_codes[0])
    page.wait_for_url(f"{live_shop}/")
    page.goto(f"{live_shop}/accounts/2fa/")
    expect(page.get_by_text("You have 9 recovery codes left.")).to_be_visible()


def test_a_copy_of_the_data_is_saved_after_the_password(
    live_shop: str, page: Page, buyer_with_password: User, rival: User, item: SaleItem
) -> None:
    (order,) = make_orders(1, buyer=buyer_with_password, item=item)
    (other,) = make_orders(1, buyer=rival, item=item)
    ShippingAddress.objects.create(order=order, **ADDRESS)
    enter_password(page, live_shop)
    page.wait_for_url(f"{live_shop}/")
    page.goto(f"{live_shop}/accounts/data/")
    page.get_by_role("link", name="Save my data").click()
    with page.expect_download() as saved:
        confirm_password(page)
    assert saved.value.suggested_filename == "stampede-my-data.json"
    text = saved.value.path().read_text()
    data = json.loads(text)
    assert data["account"]["user_name"] == "buyer"
    for words in (Order.objects.get(pk=order.pk).code, ADDRESS["name"], ADDRESS["line1"]):
        assert words in text
    assert Order.objects.get(pk=other.pk).code not in text


def test_an_account_is_deleted_and_its_order_is_kept(
    live_shop: str, page: Page, sign_in: SignIn, buyer_with_password: User, item: SaleItem
) -> None:
    # Given a buyer with an order that has not arrived yet
    (order,) = make_orders(1, buyer=buyer_with_password, item=item)
    ShippingAddress.objects.create(order=order, **ADDRESS)
    sign_in(page.context, buyer_with_password)
    page.goto(f"{live_shop}/accounts/data/")
    page.get_by_role("link", name="Delete the account").click()
    expect(page.get_by_role("alert")).to_contain_text("these orders are not finished")
    # When it has arrived, and the buyer leaves
    Order.objects.update(status=OrderStatus.COMPLETED)
    page.reload()
    page.get_by_role("button", name="Delete the account for ever").click()
    confirm_password(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account is deleted")
    # Then the order is kept, and says no more whose it was
    kept = Order.objects.get()
    assert (kept.number, kept.amount_minor, kept.status) == (order.number, 1900, OrderStatus.COMPLETED)
    person = User.objects.get(pk=buyer_with_password.pk)
    assert person.username != "buyer"
    assert (person.email, person.is_active) == ("", False)
    assert not ShippingAddress.objects.filter(name=ADDRESS["name"]).exists()
    # And nobody signs in there any more
    page.goto(f"{live_shop}/orders/")
    page.wait_for_url("**/accounts/login/**")
    enter_password(page, live_shop)
    expect(page.get_by_role("alert")).to_be_visible()
