"""What holds for every page: readable in light and dark, usable on a phone, with a finger, still, and light to load."""

from functools import partial
from typing import Any, Literal

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page

from seckill.models import SaleItem
from tests.browser.conftest import console_errors_of
from tests.browser.every_page import (
    add_variants,
    buyers_pages,
    visitors_pages,
)
from tests.browser.screen import (
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


# English is the wider language, so its pages are made narrow too, when all else is judged.
@pytest.mark.parametrize(
    ("scheme", "width", "prefix", "widths"),
    [("light", DESKTOP, "", (DESKTOP, NARROW)), ("dark", PHONE, "/zh-hans", (PHONE,))],
)
def test_every_page_is_for_everybody_fits_stands_still_and_is_light(
    live_shop: str,
    browser: Browser,
    buyer_with_password: User,
    item: SaleItem,
    scheme: Literal["light", "dark"],
    width: int,
    prefix: str,
    widths: tuple[int, ...],
) -> None:
    """Axe finds nothing serious, nothing is too wide, no price is broken, nothing moves, little loads, scripts work."""
    add_variants(item.product)
    shop = live_shop + prefix
    faults: dict[str, dict[str, Any]] = {}

    def judge(page: Page, name: str) -> None:
        wait_until_quiet(page)
        loaded = page.evaluate(LOADED)
        serious = serious_faults(page)
        small = page.evaluate(SMALL)
        shift = page.evaluate("window.shift")
        found = {
            **({} if is_light(loaded) else {"loaded": loaded}),
            **({"serious": serious} if serious else {}),
            **({"small": small} if small else {}),
            **({"shift": shift, "moved": page.evaluate("window.moved")} if shift > LAYOUT_SHIFT_MAX else {}),
            **{f"on {wanted}": wide for wanted in widths if (wide := width_on(page, wanted)) > wanted},
        }
        # The last of the widths is still there.
        found |= {"broken": broken} if (broken := page.evaluate(BROKEN)) else {}
        page.set_viewport_size({"width": width, "height": HEIGHT})
        if found:
            faults[name] = found

    errors: list[str] = []
    for pages in (visitors_pages, partial(buyers_pages, buyer=buyer_with_password)):
        with opened(browser, width=width, scheme=scheme, locale="zh-CN" if prefix else "en-GB") as page:
            page.add_init_script(SHIFTS)
            messages = console_errors_of(page)
            for name in pages(page, shop, item):
                judge(page, name)
            # Some of the pages say that something failed, and it did.
            errors += [message for message in messages if not message.startswith("Failed to load resource")]
    assert not faults
    assert not errors
