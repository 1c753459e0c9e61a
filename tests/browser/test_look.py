"""What holds for every page: readable in light and dark, usable by keyboard and on a phone, small, and still."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page, Response, ViewportSize

from orders import intake
from orders.models import Order
from seckill import ledger, passes
from seckill.models import SaleItem

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[BrowserContext, User], None]

PHONE, DESKTOP = 360, 1280
PAGES = ("/", "/sales/{sale}/", "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/nowhere/")
PAGES_OF_A_BUYER = (
    "/",
    "/sales/{sale}/",
    "/sale-items/{item}/reserve/",
    "/orders/",
    "/orders/{order}/",
    "/orders/{order}/cancel/",
    "/accounts/email/",
    "/accounts/password/change/",
    "/accounts/logout/",
    "/accounts/2fa/",
)

SCRIPTS_MAX = 3
# Style sheets, scripts and drawings of a page, as they are sent.
ASSETS_BYTES_MAX = 100_000
# The sum of Chrome's layout shifts, of which 0.1 counts as good. Nothing of ours has a reason to move.
LAYOUT_SHIFT_MAX = 0.01

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


@contextmanager
def opened(
    browser: Browser, *, width: int = DESKTOP, scheme: Literal["light", "dark"] = "light", locale: str = "en-GB"
) -> Iterator[Page]:
    viewport: ViewportSize = {"width": width, "height": 780}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, locale=locale, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def paths_of_buyer(item: SaleItem, buyer: User) -> list[str]:
    """The pages of a buyer who has an order that awaits payment."""
    reservation_id = passes.new_reservation_id(item.pk)
    ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=1)
    intake.drain_all(item_id=item.pk)
    order = Order.objects.get(reservation_id=reservation_id)
    names = {"sale": item.sale_id, "item": item.pk, "order": str(order.get_absolute_url()).split("/")[-2]}
    return [path.format(**names) for path in PAGES_OF_A_BUYER]


def open_page(page: Page, url: str) -> None:
    """Otherwise a page that fails would be judged by its error page."""
    answer = page.goto(url)
    assert answer is not None
    assert answer.status == (404 if "/nowhere/" in url else 200), url


def serious_faults(page: Page) -> list[str]:
    """What axe finds that keeps somebody from using the page."""
    return [
        f"{found['id']}: {node['html'][:160]}"
        for found in Axe().run(page).response["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


@pytest.mark.parametrize(("scheme", "width", "prefix"), [("light", DESKTOP, ""), ("dark", PHONE, "/zh-hans")])
def test_no_page_keeps_anybody_out(
    live_pages: str,
    browser: Browser,
    sign_in: SignIn,
    buyer: User,
    item: SaleItem,
    scheme: Literal["light", "dark"],
    width: int,
    prefix: str,
) -> None:
    faults: dict[str, list[str]] = {}
    with opened(browser, width=width, scheme=scheme, locale="zh-CN" if prefix else "en-GB") as page:
        for path in [path.format(sale=item.sale_id) for path in PAGES]:
            open_page(page, live_pages + prefix + path)
            faults[path] = serious_faults(page)
        sign_in(page.context, buyer)
        for path in paths_of_buyer(item, buyer):
            open_page(page, live_pages + prefix + path)
            faults[f"{path} of a buyer"] = serious_faults(page)
    assert not {path: found for path, found in faults.items() if found}


@pytest.mark.parametrize("prefix", ["", "/zh-hans"])
def test_no_page_is_wider_than_a_phone(
    live_pages: str, browser: Browser, sign_in: SignIn, buyer: User, item: SaleItem, prefix: str
) -> None:
    widths: dict[str, int] = {}
    with opened(browser, width=PHONE, locale="zh-CN" if prefix else "en-GB") as page:
        for path in [path.format(sale=item.sale_id) for path in PAGES]:
            open_page(page, live_pages + prefix + path)
            widths[path] = page.evaluate("document.documentElement.scrollWidth")
        sign_in(page.context, buyer)
        for path in paths_of_buyer(item, buyer):
            open_page(page, live_pages + prefix + path)
            widths[path] = page.evaluate("document.documentElement.scrollWidth")
    assert not {path: width for path, width in widths.items() if width > PHONE}


@pytest.mark.parametrize("scripts", [True, False])
def test_the_header_is_reached_by_keyboard_in_the_order_in_which_it_is_seen(
    live_pages: str, browser: Browser, item: SaleItem, scripts: bool
) -> None:
    context = browser.new_context(viewport={"width": PHONE, "height": 780}, locale="en-GB", java_script_enabled=scripts)
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
        page.wait_for_timeout(1000)
        assets = [answer for answer in answers if "/static/" in answer.url]
        return {
            "bytes": sum(answer.request.sizes()["responseBodySize"] for answer in assets),
            "scripts": page.locator("script[src]").count(),
            "stylesheets": page.locator("link[rel=stylesheet]").count(),
            "inline": page.locator("style, [style], script:not([src]):not([type='application/json'])").count(),
        }

    with opened(browser) as signed_in:
        sign_in(signed_in.context, buyer)
        paths = paths_of_buyer(item, buyer)
        sign_in_again = signed_in.context.cookies()
    for path in [*paths, "/nowhere/"]:
        # A browser that has nothing in its cache.
        with opened(browser) as page:
            page.context.add_cookies(sign_in_again)  # type: ignore[arg-type]
            found = weigh(page, live_pages + path)
        assert 0 < found["bytes"] < ASSETS_BYTES_MAX, (path, found)
        assert found["scripts"] <= SCRIPTS_MAX, (path, found)
        assert (found["stylesheets"], found["inline"]) == (1, 0), (path, found)


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_nothing_moves_while_a_page_loads(
    live_pages: str, browser: Browser, sign_in: SignIn, buyer: User, item: SaleItem, width: int
) -> None:
    shifts: dict[str, float] = {}
    with opened(browser, width=width) as page:
        page.add_init_script(
            """window.shift = 0;
            new PerformanceObserver((list) => {
                for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
            }).observe({ type: "layout-shift", buffered: true });"""
        )
        sign_in(page.context, buyer)
        for path in paths_of_buyer(item, buyer)[:5]:
            open_page(page, live_pages + path)
            page.wait_for_timeout(1500)
            shifts[path] = page.evaluate("window.shift")
    assert not {path: shift for path, shift in shifts.items() if shift > LAYOUT_SHIFT_MAX}
