"""A browser window, narrow or wide, that counts what moves and looks for faults; and answers that a test holds back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import APIResponse, Browser, Page, Route, ViewportSize

from tests.browser.conftest import width_of

# Without what passed, which is a hundred times as much to bring over from the browser, and without the rules that find
# nothing serious.
VIOLATIONS = """() => {
    const slight = axe._audit.rules.filter(({ impact }) => ["minor", "moderate"].includes(impact));
    const rules = Object.fromEntries(slight.map(({ id }) => [id, { enabled: false }]));
    return axe.run({ resultTypes: ["violations"], rules }).then(({ violations }) => violations);
}"""
# The one rule whose verdict depends on the colour scheme.
CONTRAST = """() => axe.run({ resultTypes: ["violations"], runOnly: ["color-contrast"] })
    .then(({ violations }) => violations)"""
# Half a megabyte: a browser that has it already need not be sent it for each page. It runs when it is called.
START_AXE = f"window.startAxe = () => {{ {AXE_SCRIPT} }};"
# The narrowest is a small phone, or a page on a desktop that is made four times as large (WCAG 1.4.10).
NARROW, PHONE, DESKTOP = 320, 360, 1280
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

# Counts the calls that have no answer yet.
CALLS = """window.callsUnderWay = 0;
const callTheShop = window.fetch;
window.fetch = (...call) => {
    window.callsUnderWay += 1;
    return callTheShop(...call).finally(() => { window.callsUnderWay -= 1; });
};"""
# Three times in a row there is none, so that the answer to one has led to no other.
QUIET = """async () => {
    for (let quiet = 0; quiet < 3; quiet = window.callsUnderWay ? 0 : quiet + 1)
        await new Promise((later) => setTimeout(later, 20));
}"""


@contextmanager
def opened(
    browser: Browser, *, width: int = DESKTOP, scheme: Literal["light", "dark"] = "light", locale: str = "en-GB"
) -> Iterator[Page]:
    viewport: ViewportSize = {"width": width, "height": HEIGHT}
    context = browser.new_context(
        viewport=viewport, color_scheme=scheme, locale=locale, reduced_motion="reduce", is_mobile=width == PHONE
    )
    context.add_init_script(CALLS)
    context.add_init_script(START_AXE)
    yield context.new_page()
    context.close()


def wait_until_quiet(page: Page) -> None:
    """The page is loaded, and so is what it asked for. Playwright's `networkidle` waits half a second for each page."""
    page.wait_for_load_state("load")
    page.evaluate(QUIET)


def width_on(page: Page, width: int) -> int:
    """How wide the page is on a screen of this width: as wide as the screen, unless something sticks out."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    # Charts follow in the frame after that.
    page.evaluate("() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
    return width_of(page)


def serious_faults(page: Page, violations: str = VIOLATIONS) -> list[str]:
    """What axe finds that keeps somebody from using the page."""
    if not page.evaluate("window.startAxe?.() ?? Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    return [
        f"{found['id']}: {node['html'][:160]}"
        for found in page.evaluate(violations)
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


class HeldAnswers:
    """The shop's answers to one tab's calls of an address, which are given to it only when the test says so."""

    def __init__(self, tab: Page, address: str = "**/api/v1/me/**") -> None:
        self._tab = tab
        self._held: list[tuple[Route, APIResponse]] = []
        self._is_holding = True
        tab.route(address, self._hold)

    def _hold(self, route: Route) -> None:
        if self._is_holding:
            self._held.append((route, route.fetch()))
        else:
            route.continue_()

    def wait(self) -> None:
        """Until there is one. Raises TimeoutError after ten seconds."""
        for _ in range(500):
            if self._held:
                return
            self._tab.wait_for_timeout(20)
        raise TimeoutError("the tab has not asked")

    def give(self) -> None:
        """Give those that are held. Later ones are not held any more."""
        self._is_holding = False
        for route, response in self._held:
            route.fulfill(response=response)
