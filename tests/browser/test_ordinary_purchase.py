"""The whole ordinary purchase in a real browser, and a checkout that follows the choice of a country."""

import re
from urllib.parse import parse_qs

from django.contrib.auth.models import User
from playwright.sync_api import APIResponse, Page, Route, expect

from orders.models import CartLine, Order, OrderStatus, ShippingMethod, ShippingPrice
from tests.browser.conftest import sign_in
from tests.browser.screen import HeldAnswers
from tests.steps.shop import goods

ORDER_PAGE = re.compile(r"/orders/[0-9a-f-]{36}/$")


def put_in(page: Page, shop: str, slug: str, units: int) -> None:
    """By the page that browsers get which do not say where a form comes from."""
    page.goto(f"{shop}/cart/add/confirm/?sku=SKU-{slug}&units={units}")
    page.click("main form button")
    page.wait_for_url("**/cart/")


def fill_address(page: Page) -> None:
    for name, value in {"name": "Lin Wei", "line1": "1 Nanjing Road", "phone": "13800138000"}.items():
        page.fill(f"[name={name}]", value)
    page.select_option("[name=region]", "上海市")
    page.select_option("select[name=city]", "黄浦区")


def test_a_buyer_fills_a_cart_orders_and_pays(live_shop: str, page: Page, buyer: User) -> None:
    goods("tea", price_minor=1000)
    for code, country, price_minor in (("near", "CN", 500), ("far", "DE", 9000)):
        method = ShippingMethod.objects.create(code=code, name=code.title(), countries=[country])
        ShippingPrice.objects.create(method=method, price_minor=price_minor)
    # A guest's cart is still there after signing in.
    put_in(page, live_shop, "tea", 2)
    expect(page.locator("[data-cart-units]")).to_have_text("2")
    page.goto(live_shop)
    expect(page.locator("[data-cart-units]")).to_have_text("2")
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/cart/")
    expect(page.locator("#cart-total")).to_have_text("CN¥20.00")
    with page.expect_response("**/api/v1/me/"):
        page.goto(live_shop)
    expect(page.locator("[data-cart-units]")).to_have_text("2")
    # Where Back shows a page that the browser has kept, its header says what is so now.
    CartLine.objects.update(units=3)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(page.locator("[data-cart-units]")).to_have_text("3")
    CartLine.objects.update(units=2)

    # With scripts, delivery and total follow the country at once.
    page.goto(f"{live_shop}/checkout/")
    expect(page.locator("#checkout-total")).to_have_text("CN¥25.00")
    page.select_option("[name=country]", "DE")
    expect(page.locator("#checkout-total")).to_have_text("CN¥110.00")
    expect(page.locator("#delivery")).to_contain_text("Far")
    page.select_option("[name=country]", "CN")
    expect(page.locator("#checkout-total")).to_have_text("CN¥25.00")
    fill_address(page)
    page.click("#order-now")
    page.wait_for_url(ORDER_PAGE)
    expect(page.locator(".facts")).to_contain_text("1 Nanjing Road")
    page.click("#pay")
    page.wait_for_url("**/pay/simulated/*/")
    page.click("button[value=pay]")
    page.wait_for_url("**/orders/**")
    expect(page.locator(".status")).to_have_text("paid", timeout=30_000)
    assert Order.objects.get().status == OrderStatus.PAID
    page.goto(f"{live_shop}/cart/")
    expect(page.locator("main")).to_contain_text("Your cart is empty.")


def test_the_country_that_is_chosen_last_is_kept_when_others_were_on_the_way_to_it(live_shop: str, page: Page) -> None:
    # Given a guest in the checkout, who chooses by keyboard
    goods("tea", price_minor=1000)
    for code, countries, price_minor in (("near", "CN", 500), ("far", "DE GA GE", 9000), ("sea", "GR", 700)):
        method = ShippingMethod.objects.create(code=code, name=code.title(), countries=countries.split())
        ShippingPrice.objects.create(method=method, price_minor=price_minor)
    put_in(page, live_shop, "tea", 1)
    page.goto(f"{live_shop}/checkout/")
    asked: list[str] = []
    page.on("request", lambda call: asked.extend(parse_qs(call.post_data or "").get("country", [])))
    answers = HeldAnswers(page, "**/checkout/")
    country = page.locator("#id_country")
    country.focus()
    # When its name is typed, which begins as Gabon does, and as Georgia does
    page.keyboard.type("Ger")
    answers.wait()
    # And the next one, Greece, is chosen before the shop has answered
    page.keyboard.press("ArrowDown")
    answers.give()
    # Then delivery and choice are those of Greece, and the keyboard is still there
    expect(page.locator("#delivery")).to_contain_text("Sea")
    expect(page.locator("#checkout-total")).to_have_text("CN¥17.00")
    expect(country).to_have_value("GR")
    expect(country).to_be_focused()
    assert asked == ["DE", "GR"]


def test_a_way_of_sending_and_a_tick_that_are_chosen_while_the_cities_are_on_their_way_are_kept(
    live_shop: str, page: Page, buyer: User
) -> None:
    goods("tea", price_minor=1000)
    for code, price_minor in (("near", 500), ("fast", 9000)):
        method = ShippingMethod.objects.create(code=code, name=code.title(), countries=["CN"])
        ShippingPrice.objects.create(method=method, price_minor=price_minor)
    sign_in(page.context, buyer)
    put_in(page, live_shop, "tea", 1)
    page.goto(f"{live_shop}/checkout/")
    answers = HeldAnswers(page, "**/checkout/")
    page.select_option("[name=region]", "上海市")
    answers.wait()
    page.route("**/checkout/", lambda route: route.continue_())
    page.check("#shipping-fast")
    expect(page.locator("#checkout-total")).to_have_text("CN¥100.00")
    page.check("[name=to_address_book]")
    answers.give()
    page.select_option("select[name=city]", "黄浦区")
    expect(page.locator("#shipping-fast")).to_be_checked()
    expect(page.locator("#checkout-total")).to_have_text("CN¥100.00")
    expect(page.locator("[name=to_address_book]")).to_be_checked()


def test_a_slow_answer_to_an_order_leads_to_it_although_the_last_choice_asks_for_the_delivery(
    live_shop: str, page: Page, buyer: User
) -> None:
    goods("tea", price_minor=1000)
    sign_in(page.context, buyer)
    put_in(page, live_shop, "tea", 1)
    page.goto(f"{live_shop}/checkout/")
    held: list[tuple[Route, APIResponse]] = []

    def hold_order(route: Route) -> None:
        if "refresh" in parse_qs(route.request.post_data or ""):
            route.continue_()
        else:
            held.append((route, route.fetch(max_redirects=0)))

    page.route("**/checkout/", hold_order)
    fill_address(page)
    page.click("#order-now", no_wait_after=True)
    # The cart is empty by now, and the choice of the city asks after 0.4 s.
    page.wait_for_timeout(1500)
    [(order, answer)] = held
    order.fulfill(response=answer)
    page.wait_for_url(ORDER_PAGE, timeout=10_000)
