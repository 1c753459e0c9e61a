"""What holds for every page: readable in light and dark, usable by keyboard and on a phone, small, and still."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page, Response, ViewportSize

from seckill.models import SaleItem
from shop.models import Product
from tests.browser.every_page import (
    OPEN_PAGES,
    add_variants,
    buyers_pages,
    order_awaiting_payment,
    own_paths,
    visitors_pages,
)
from tests.browser.slow_page import slow_pages
from tests.browser.test_ordinary_purchase import put_in
from tests.conftest import make_item

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[BrowserContext, User], None]

PHONE, DESKTOP = 360, 1280
HEIGHT = 780

SCRIPTS_MAX = 3
# Style sheets, scripts and drawings of a page, as they are sent.
ASSETS_BYTES_MAX = 100_000
# The sum of Chrome's layout shifts, of which 0.1 counts as good. Nothing of ours has a reason to move.
LAYOUT_SHIFT_MAX = 0.01

# What the header of a visitor has on every page, in this order. Others, such as the categories, may stand between.
HEADER = ["Skip to the content", "Stampede", "中文", "Sign in", "Sales", "My orders"]
# Sums up what moves, unless somebody pressed something just before, and says what it was, from where to where.
SHIFTS = """window.shift = 0;
window.moved = [];
const place = (box) => [box.x, box.y, box.width, box.height].map(Math.round).join(" ");
new PerformanceObserver((list) => {
    for (const entry of list.getEntries().filter((one) => !one.hadRecentInput)) {
        window.shift += entry.value;
        for (const { node, previousRect, currentRect } of entry.sources)
            window.moved.push(`${node?.outerHTML?.slice(0, 160)}: ${place(previousRect)} → ${place(currentRect)}`);
    }
}).observe({ type: "layout-shift", buffered: true });"""
FOCUSED = """() => {
    const element = document.activeElement, box = element.getBoundingClientRect();
    return {
        name: element.innerText.trim(),
        seen: box.top >= 0 && box.left >= 0 && box.right <= innerWidth && box.height > 0,
        ring: getComputedStyle(element).outlineStyle,
        middle: (box.top + box.bottom) / 2,
    };
}"""


@contextmanager
def opened(
    browser: Browser, *, width: int = DESKTOP, scheme: Literal["light", "dark"] = "light", locale: str = "en-GB"
) -> Iterator[Page]:
    viewport: ViewportSize = {"width": width, "height": HEIGHT}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, locale=locale, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def width_on(page: Page, width: int) -> int:
    """How wide the page is on a screen of this width: as wide as the screen, unless something sticks out."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    return int(page.evaluate("document.documentElement.scrollWidth"))


def serious_faults(page: Page) -> list[str]:
    """What axe finds that keeps somebody from using the page."""
    return [
        f"{found['id']}: {node['html'][:160]}"
        for found in Axe().run(page).response["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


# English is the wider language, so its pages are made narrow too, when all else is judged.
@pytest.mark.parametrize(
    ("scheme", "width", "prefix", "widths"),
    [("light", DESKTOP, "", (DESKTOP, PHONE)), ("dark", PHONE, "/zh-hans", (PHONE,))],
)
def test_every_page_is_for_everybody_fits_and_stands_still(
    live_pages: str,
    browser: Browser,
    buyer_with_password: User,
    item: SaleItem,
    scheme: Literal["light", "dark"],
    width: int,
    prefix: str,
    widths: tuple[int, ...],
) -> None:
    """Axe finds nothing serious, nothing is wider than the screen, and nothing moves while a page loads."""
    add_variants(item.product)
    shop = live_pages + prefix
    faults: dict[str, dict[str, Any]] = {}

    def judge(page: Page, name: str) -> None:
        page.wait_for_load_state("networkidle")
        serious = serious_faults(page)
        shift = page.evaluate("window.shift")
        found = {
            **({"serious": serious} if serious else {}),
            **({"shift": shift, "moved": page.evaluate("window.moved")} if shift > LAYOUT_SHIFT_MAX else {}),
            **{f"on {wanted}": wide for wanted in widths if (wide := width_on(page, wanted)) > wanted},
        }
        page.set_viewport_size({"width": width, "height": HEIGHT})
        if found:
            faults[name] = found

    with opened(browser, width=width, scheme=scheme, locale="zh-CN" if prefix else "en-GB") as page:
        page.add_init_script(SHIFTS)
        for name in visitors_pages(page, shop, item):
            judge(page, name)
    with opened(browser, width=width, scheme=scheme, locale="zh-CN" if prefix else "en-GB") as page:
        page.add_init_script(SHIFTS)
        for name in buyers_pages(page, shop, item, buyer_with_password):
            judge(page, name)
    assert not faults


@pytest.mark.parametrize("opens_in_seconds", [-60, 1800])
def test_a_page_that_comes_in_two_parts_does_not_move(
    live_pages: str, browser: Browser, product: Product, opens_in_seconds: int
) -> None:
    """The only item of a sale, and the only sale that comes, have more room than one of many."""
    item = make_item(product, opens_in_seconds=opens_in_seconds)
    with slow_pages(live_pages, pause_before=b"</article>") as shop, opened(browser) as page:
        page.add_init_script(SHIFTS)
        for path in (f"/sales/{item.sale_id}/", "/"):
            page.goto(shop + path)
            assert page.locator("article").first.is_visible()
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
