"""A window of the browser as wide as a phone or a desk, in which what moves by itself is counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize

PHONE, DESKTOP = 360, 1280
HEIGHT = 780
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


@contextmanager
def opened(
    browser: Browser, *, width: int = DESKTOP, scheme: Literal["light", "dark"] = "light", locale: str = "en-GB"
) -> Iterator[Page]:
    viewport: ViewportSize = {"width": width, "height": HEIGHT}
    context = browser.new_context(
        viewport=viewport, color_scheme=scheme, locale=locale, reduced_motion="reduce", is_mobile=width == PHONE
    )
    yield context.new_page()
    context.close()
