"""What holds for every page: readable in light and dark, usable on a phone, with a finger, still, and light to load."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page

from seckill.models import SaleItem
from tests.browser.conftest import console_errors_of, width_of
from tests.browser.every_page import add_variants, buyers_pages, guests_purchase, visitors_pages
from tests.browser.screen import (
    CONTRAST,
    DESKTOP,
    HEIGHT,
    NARROW,
    PHONE,
    SHIFTS,
    opened,
    serious_faults,
    wait_until_quiet,
    width_on,
)

Pages = Callable[[Page, str, SaleItem, User], Iterator[str]]

# The sum of Chrome's layout shifts, of which 0.1 counts as good. Nothing of ours has a reason to move.
LAYOUT_SHIFT_MAX = 0.01

SCRIPTS_MAX = 3
# Style sheets, scripts and drawings of a page, as they are sent.
ASSETS_BYTES_MAX = 100_000

# What the page loaded, also where the browser had it already.
LOADED = """() => {
    const count = (selector) => document.querySelectorAll(selector).length;
    const assets = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/static/"));
    return {
        bytes: assets.reduce((sum, asset) => sum + asset.encodedBodySize, 0),
        scripts: count("script[src]"),
        stylesheets: count("link[rel=stylesheet]"),
        inline: count("style, [style], script:not([src]):not([type$='json'])"),
    };
}"""


# What is pressed, where it stands alone: a link in a sentence is as high as its line, a choice as its label.
SMALL = """() => [...document.querySelectorAll(`button, .button, select, summary, textarea, nav a, .breadcrumbs a,
    .aside a, .facts dd a, .account-cards p > a, input:not([type=hidden], [type=checkbox], [type=radio])`)]
    .filter((element) => element.checkVisibility() && !element.closest(".visually-hidden"))
    .map((element) => [Math.round(element.getBoundingClientRect().height), element.outerHTML.slice(0, 120)])
    .filter(([height]) => height > 1 && height < 44)"""

# Amounts that go on in a second line, or stick out of the block that they stand in.
BROKEN = """() => {
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const broken = [], range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode())
        for (const { 0: amount, index } of node.data.matchAll(/[A-Z]*¥[0-9.,]*[0-9]/g)) {
            range.setStart(node, index);
            range.setEnd(node, index + amount.length);
            const lines = new Set([...range.getClientRects()].map(({ top }) => top));
            const block = node.parentElement.closest("p, li, dd, td, div, .price").getBoundingClientRect();
            if (lines.size > 1 || range.getBoundingClientRect().right > block.right + 1) broken.push(amount);
        }
    return broken;
}"""


def is_light(loaded: dict[str, int]) -> bool:
    few = loaded["scripts"] <= SCRIPTS_MAX and (loaded["stylesheets"], loaded["inline"]) == (1, 0)
    return few and 0 < loaded["bytes"] < ASSETS_BYTES_MAX


def visitors(page: Page, shop: str, item: SaleItem, _buyer: User) -> Iterator[str]:
    yield from visitors_pages(page, shop, item)


def chinese_guest_and_buyer(page: Page, shop: str, item: SaleItem, buyer: User) -> Iterator[str]:
    yield from guests_purchase(page, f"{shop}/zh-hans")
    yield from buyers_pages(page, shop, item, buyer)


# English is the wider language, so its pages are made narrow, when all else is judged.
@pytest.mark.parametrize(
    ("pages", "scheme", "width"), [(visitors, "light", DESKTOP), (chinese_guest_and_buyer, "dark", PHONE)]
)
def test_every_page_is_for_everybody_fits_stands_still_and_is_light(
    live_shop: str,
    browser: Browser,
    buyer_with_password: User,
    item: SaleItem,
    pages: Pages,
    scheme: Literal["light", "dark"],
    width: int,
) -> None:
    """Axe finds nothing serious, nothing is too wide, no price is broken, nothing moves, little loads, scripts work."""
    add_variants(item.product)
    other_scheme: Literal["light", "dark"] = "dark" if scheme == "light" else "light"
    faults: dict[str, dict[str, Any]] = {}

    def judge(page: Page, name: str) -> None:
        wait_until_quiet(page)
        loaded = page.evaluate(LOADED)
        serious = serious_faults(page)
        page.emulate_media(color_scheme=other_scheme)
        faint = serious_faults(page, CONTRAST)
        page.emulate_media(color_scheme=scheme)
        small = page.evaluate(SMALL)
        shift = page.evaluate("window.shift")
        wide_on = {width: width_of(page), NARROW: width_on(page, NARROW)}
        found = {
            **({} if is_light(loaded) else {"loaded": loaded}),
            **({"serious": serious} if serious else {}),
            **({f"faint when {other_scheme}": faint} if faint else {}),
            **({"small": small} if small else {}),
            **({"shift": shift, "moved": page.evaluate("window.moved")} if shift > LAYOUT_SHIFT_MAX else {}),
            **{f"on {screen}": wide for screen, wide in wide_on.items() if wide > screen},
        }
        # It is narrow still.
        found |= {"broken": broken} if (broken := page.evaluate(BROKEN)) else {}
        page.set_viewport_size({"width": width, "height": HEIGHT})
        if found:
            faults[name] = found

    with opened(browser, width=width, scheme=scheme) as page:
        page.add_init_script(SHIFTS)
        messages = console_errors_of(page)
        for name in pages(page, live_shop, item, buyer_with_password):
            judge(page, name)
    assert not faults
    # Some of the pages say that something failed, and it did.
    assert [message for message in messages if not message.startswith("Failed to load resource")] == []
