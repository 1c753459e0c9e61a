"""What holds for some pages: a slow line, the header by keyboard, and how little is loaded."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page, Response, ViewportSize

from seckill.models import SaleItem
from shop.models import Product
from tests.browser.every_page import OPEN_PAGES, order_awaiting_payment, own_paths
from tests.browser.slow_page import slow_pages
from tests.browser.test_every_page import DESKTOP, HEIGHT, PHONE, SHIFTS, opened
from tests.browser.test_ordinary_purchase import put_in
from tests.conftest import make_item

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[BrowserContext, User], None]

SCRIPTS_MAX = 3
# Style sheets, scripts and drawings of a page, as they are sent.
ASSETS_BYTES_MAX = 100_000

# What the header of a visitor has on every page, in this order. Others, such as the categories, may stand between.
HEADER = ["Skip to the content", "Stampede", "中文", "Sign in", "Sales", "My orders"]
FOCUSED = """() => {
    const element = document.activeElement, box = element.getBoundingClientRect();
    return {
        name: element.innerText.trim(),
        seen: box.top >= 0 && box.left >= 0 && box.right <= innerWidth && box.height > 0,
        ring: getComputedStyle(element).outlineStyle,
        middle: (box.top + box.bottom) / 2,
    };
}"""


@pytest.mark.parametrize(
    ("opens_in_seconds", "width", "words", "paths"),
    [
        # The only item of a sale, and the only sale that comes, have more room than one of many.
        (-60, DESKTOP, b"</article>", ["/sales/{sale}/", "/"]),
        (1800, DESKTOP, b"</article>", ["/sales/{sale}/", "/"]),
        # Filters stand below the products.
        (-60, PHONE, b"</li>", ["/products/", "/search/?q=longjing"]),
    ],
)
def test_a_page_that_comes_in_two_parts_does_not_move(
    live_pages: str,
    browser: Browser,
    product: Product,
    opens_in_seconds: int,
    width: int,
    words: bytes,
    paths: Sequence[str],
) -> None:
    item = make_item(product, opens_in_seconds=opens_in_seconds)
    with slow_pages(live_pages, pause_before=words) as shop, opened(browser, width=width) as page:
        page.add_init_script(SHIFTS)
        for path in paths:
            page.goto(shop + path.format(sale=item.sale_id))
            assert page.locator(".product-card, .item").first.is_visible()
            assert page.evaluate("window.moved") == [], path


@pytest.mark.parametrize("scripts", [True, False])
def test_the_header_is_reached_by_keyboard_in_the_order_in_which_it_is_seen(
    live_pages: str, browser: Browser, item: SaleItem, scripts: bool
) -> None:
    viewport: ViewportSize = {"width": PHONE, "height": HEIGHT}
    context = browser.new_context(viewport=viewport, locale="en-GB", java_script_enabled=scripts)
    page = context.new_page()
    page.goto(f"{live_pages}/sales/{item.sale_id}/")
    reached: list[dict[str, Any]] = []
    while not reached or reached[-1]["name"] != "My orders":
        assert len(reached) < 30, reached
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    assert [focused for focused in reached if not focused["seen"] or focused["ring"] != "solid"] == []
    names = [focused["name"] for focused in reached]
    assert [name for name in names if name in HEADER] == HEADER
    # From row to row.
    rows = [focused["middle"] for focused in reached[1:]]
    assert all(after > before - 10 for before, after in pairwise(rows)), reached
    # And the first link leads past it.
    page.goto(f"{live_pages}/sales/{item.sale_id}/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    context.close()


def test_a_page_loads_one_stylesheet_few_scripts_and_little_in_all(
    live_pages: str, browser: Browser, sign_in: SignIn, buyer: User, item: SaleItem
) -> None:
    def weigh(page: Page, url: str) -> dict[str, Any]:
        answers: list[Response] = []

        def add(answer: Response) -> None:
            answers.append(answer)

        page.on("response", add)
        page.goto(url)
        assets = [answer for answer in answers if "/static/" in answer.url]
        return {
            "bytes": sum(answer.request.sizes()["responseBodySize"] for answer in assets),
            "scripts": page.locator("script[src]").count(),
            "stylesheets": page.locator("link[rel=stylesheet]").count(),
            "inline": page.locator("style, [style], script:not([src]):not([type$='json'])").count(),
        }

    with opened(browser) as signed_in:
        sign_in(signed_in.context, buyer)
        put_in(signed_in, live_pages, "longjing", 1)
        paths = [path.format(sale=item.sale_id) for path in OPEN_PAGES]
        paths += [*own_paths(item, order_awaiting_payment(item, buyer)), "/checkout/"]
        sign_in_again = signed_in.context.cookies()
    for path in dict.fromkeys(paths):
        # A browser that has nothing in its cache.
        with opened(browser) as page:
            page.context.add_cookies(sign_in_again)  # type: ignore[arg-type]
            found = weigh(page, live_pages + path)
        assert 0 < found["bytes"] < ASSETS_BYTES_MAX, (path, found)
        assert found["scripts"] <= SCRIPTS_MAX, (path, found)
        assert (found["stylesheets"], found["inline"]) == (1, 0), (path, found)
