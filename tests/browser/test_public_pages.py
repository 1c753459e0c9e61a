"""Pages that are the same for everybody, in a browser: what their scripts add, and what they ask the shop."""

import json
import re
from functools import partial

from django.contrib.auth.models import User
from playwright.sync_api import Page, Request, Route, expect

from orders.life import lifecycle
from seckill.models import SaleItem
from seckill.publication import publish_sale
from shop.models import Product
from tests.browser.conftest import NewPage, focus_by_tab, sign_in
from tests.browser.order_to_pay import order_to_pay
from tests.steps.shop import make_item, make_product, variant_of


def api_calls_of(page: Page) -> list[str]:
    """Grows with each call of the API that the page makes."""
    calls: list[str] = []

    def add(request: Request) -> None:
        if "/api/v1/" in request.url:
            calls.append(request.url.split("/api/v1/")[1])

    page.on("request", add)
    return calls


def cookies_of(page: Page) -> set[str]:
    return {cookie["name"] for cookie in page.context.cookies()}


def test_the_header_says_who_is_signed_in_and_signs_out(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    # Given a visitor whom nobody asked for a name
    calls = api_calls_of(page)
    page.goto(f"{live_shop}/")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    expect(page.locator(".countdown").first).to_have_text(re.compile(r"59:\d\d|1:00:00"))
    assert calls == []
    # When they are signed in, and an order awaits payment
    sign_in(page.context, buyer)
    order_to_pay(item, buyer)
    page.goto(f"{live_shop}/")
    # Then the same page says so
    expect(page.locator("[data-user-name]")).to_have_text("buyer")
    expect(page.get_by_role("link", name="My orders 1 awaiting payment")).to_be_visible()
    expect(page.get_by_role("link", name="Sign in")).to_be_hidden()
    assert calls == ["me/"]
    # And the page of the sale shows what was reserved elsewhere
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    expect(page.locator("[data-outcome]")).to_contain_text("Reserved for you: 1 × Longjing tea")
    page.get_by_role("link", name="View your order").click()
    page.wait_for_url("**/orders/*/")
    # And they can sign out there, by keyboard
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    focus_by_tab(page, "Sign out")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{live_shop}/")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    assert not cookies_of(page) & {"sessionid", "signed_in"}
    # And a session that ends elsewhere is noticed
    sign_in(page.context, buyer)
    page.context.clear_cookies(name="sessionid")
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    expect(page.get_by_role("link", name="Sign in to buy")).to_be_visible()
    expect(page.locator("[data-buy]")).to_be_hidden()
    assert "signed_in" not in cookies_of(page)


def test_a_visitor_of_what_is_sold_out_is_offered_a_mail_and_no_sign_in(
    live_shop: str, page: Page, rival: User, product: Product
) -> None:
    item = make_item(product, quantity=1)
    assert lifecycle.pay(order_id=order_to_pay(item, rival).pk)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    expect(page.get_by_role("link", name="Tell me when it is back")).to_be_visible()
    expect(page.get_by_role("link", name="Sign in to buy")).to_be_hidden()


def test_a_page_whose_question_who_is_signed_in_gets_no_answer_asks_again(
    live_shop: str, page: Page, buyer: User
) -> None:
    sign_in(page.context, buyer)
    page.route("**/api/v1/me/", lambda route: None, times=1)
    page.goto(live_shop)
    expect(page.locator("[data-user-name]")).to_have_text(buyer.username, timeout=15_000)


def test_a_buyer_who_signs_out_elsewhere_and_comes_back_sees_it(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    expect(page.locator("[data-user-name]")).to_have_text("buyer")
    page.goto(f"{live_shop}/orders/")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{live_shop}/")
    page.go_back()
    page.wait_for_url("**/accounts/login/**")
    page.go_back()
    expect(page.get_by_role("link", name="Sign in to buy")).to_be_visible()
    expect(page.locator("[data-buy]")).to_be_hidden()


def test_the_language_of_the_browser_then_the_choice(live_shop: str, new_page: NewPage, item: SaleItem) -> None:
    # Given a browser that reads Chinese, and opens the shop for the first time, by a link that somebody shared
    page, sale = new_page(locale="zh-CN"), f"sales/{item.sale_id}/"
    page.goto(f"{live_shop}/{sale}?from=friend#item-{item.pk}")
    page.wait_for_url(f"{live_shop}/zh-hans/{sale}?from=friend#item-{item.pk}")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    # When the visitor switches on that page
    page.click("button[value=en]")
    # Then it is the same page, and the choice lasts, except where the address names a language
    page.wait_for_url(f"{live_shop}/{sale}**")
    expect(page.locator("h1")).to_have_text("Spring sale")
    page.goto(f"{live_shop}/zh-hans/products/{item.product.slug}/")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    page.goto(f"{live_shop}/")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.wait_for_timeout(300)
    assert page.url == f"{live_shop}/"


def hide(page: Page, hidden: bool) -> None:
    """As when the visitor looks at another tab, or comes back."""
    page.evaluate(
        """(hidden) => {
            Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_an_open_page_asks_one_call_for_all_items_and_rests_while_it_is_hidden(
    live_shop: str, page: Page, product: Product
) -> None:
    item = make_item(product, published=False)
    other = make_product(name="Teapot", slug="teapot", price_minor=9900)
    SaleItem.objects.create(sale=item.sale, variant=variant_of(other), price_minor=1900, quantity=5)
    publish_sale(sale_id=item.sale_id)
    calls = api_calls_of(page)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    for _ in range(200):
        if len(calls) >= 3:
            break
        page.wait_for_timeout(100)
    assert set(calls) == {f"sales/{item.sale_id}/live/"}

    # While it is hidden it asks nothing
    hide(page, True)
    page.wait_for_timeout(500)
    before = len(calls)
    page.wait_for_timeout(3000)
    assert len(calls) == before
    # And at once when it is seen again
    with page.expect_request("**/live/", timeout=500):
        hide(page, False)


def test_a_home_page_that_was_hidden_at_the_opening_or_got_no_answer_shows_later_that_the_sale_is_open(
    live_shop: str, new_page: NewPage, product: Product
) -> None:
    # Given a home page that reads on at the first moment it may, and a keyboard on the link to a sale
    item = make_item(product, opens_in_seconds=12)
    page = new_page()
    page.add_init_script("Math.random = () => 0")
    page.goto(f"{live_shop}/")
    expect(page.get_by_role("heading", name="Coming up")).to_be_visible()
    focus_by_tab(page, "Spring sale")
    # When it is hidden while the sale opens, then it asks nothing
    hide(page, True)
    asked: list[str] = []
    page.on("request", lambda call: asked.append(call.url) if call.resource_type == "xhr" else None)
    expect(page.locator(".countdown").first).to_have_text("00:00", timeout=20_000)
    page.wait_for_timeout(2_500)
    assert asked == []

    # And when it is seen again, and its first call fails, then it calls once more
    def fail_once(route: Route) -> None:
        is_first = route.request.resource_type == "xhr" and len(asked) == 1
        route.abort() if is_first else route.continue_()

    page.route(f"{live_shop}/", fail_once)
    hide(page, False)
    expect(page.get_by_role("heading", name="Open now")).to_be_visible(timeout=15_000)
    assert len(asked) >= 2
    # And the keyboard is on the link still
    expect(page.locator(".hero").get_by_role("link", name="Spring sale")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/sales/{item.sale_id}/")


def note(sent: list[str], name: str, call: Request) -> None:
    """Who asked to reserve."""
    if "/reservations/" in call.url:
        sent.append(name)


def test_a_page_that_waited_for_the_opening_is_not_behind_a_press_after_it(
    live_shop: str, new_page: NewPage, buyer: User, rival: User, product: Product
) -> None:
    # Given a crowd, for which the shop wants eight seconds
    item = make_item(product, opens_in_seconds=15)

    def in_a_crowd(route: Route) -> None:
        answer = route.fetch()
        if answer.status != 200:
            route.fulfill(response=answer)
            return
        body = {**answer.json(), "opening_spread_ms": 8_000}
        route.fulfill(response=answer, body=json.dumps(body))

    # A buyer with the last of the turns, who waits, and a rival with the first, who does not
    pages: list[Page] = []
    sent: list[str] = []
    for name, user, turn in (("buyer", buyer, 0.99), ("rival", rival, 0.0)):
        page = new_page()
        page.route("**/live/", in_a_crowd)
        page.add_init_script(f"Math.random = () => {turn}")
        sign_in(page.context, user)
        page.on("request", partial(note, sent, name))
        page.goto(f"{live_shop}/sales/{item.sale_id}/")
        pages.append(page)
    waits, presses = pages
    waits.click("[data-buy]")
    expect(waits.locator("[data-outcome]")).to_contain_text("This page will reserve")
    # When the sale has opened, and the rival presses at once
    expect(presses.locator("[data-buy]")).to_have_text("Reserve now", timeout=30_000)
    presses.click("[data-buy]")
    for page in pages:
        expect(page.locator("[data-buy]")).to_have_text("Reserving …")
    # Then both reserve, and the one who waited first
    for page in pages:
        page.wait_for_url("**/orders/*/", timeout=30_000)
    assert [name for at, name in enumerate(sent) if name not in sent[:at]] == ["buyer", "rival"]
    for page in pages:
        page.unroute_all(behavior="ignoreErrors")


def test_the_header_stands_still_while_it_arrives(live_shop: str, page: Page, buyer: User) -> None:
    """A browser shows what it has of a page: a button without its word must not be higher than with it."""
    sign_in(page.context, buyer)
    address = f"{live_shop}/orders/"
    whole = page.request.get(address).text()
    ends = [button.end() for button in re.finditer(r"<button[^>]*>", whole.partition("</header>")[0])]
    assert len(ends) == 3

    def give(end: int, route: Route) -> None:
        route.fulfill(body=whole[:end], content_type="text/html; charset=utf-8")

    tops = set()
    for end in (*ends, len(whole)):
        page.route(address, partial(give, end))
        page.goto(address)
        tops.add(page.locator(".brand").evaluate("brand => brand.getBoundingClientRect().top"))
    assert len(tops) == 1, tops
