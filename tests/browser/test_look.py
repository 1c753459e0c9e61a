"""What holds for some pages: nothing moves over a slow line, and the header is reached by keyboard."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from seckill.models import SaleItem
from shop.models import Product
from tests.browser.conftest import NewPage
from tests.browser.screen import DESKTOP, HEIGHT, PHONE, SHIFTS, opened
from tests.steps.shop import make_item

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

# The only item of a sale, and the only sale that comes, have more room than one of many. Filters stand below products.
IN_TWO_PARTS = [
    (DESKTOP, b"</article>", "/sales/{sale}/"),
    (DESKTOP, b"</article>", "/"),
    (PHONE, b"</li>", "/products/"),
    (PHONE, b"</li>", "/search/?q=longjing"),
]
# Longer than a browser waits before it draws what it has.
PAUSE_SECONDS = 0.8


@contextmanager
def slow_pages(shop: str, *, pause_before: bytes) -> Iterator[str]:
    """The address of a proxy in front of the shop: of each page, what comes before these words comes earlier."""
    address = urlsplit(shop)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with closing(http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)) as client:
                client.request("GET", self.path, headers={"Host": self.headers["Host"]})
                answer = client.getresponse()
                body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("server", "date", "connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.end_headers()
            first, words, rest = body.partition(pause_before)
            self.wfile.write(first)
            if words:
                time.sleep(PAUSE_SECONDS)
                self.wfile.write(words + rest)

        def log_message(self, format: str, *args: object) -> None:
            """No log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_page_that_comes_in_two_parts_does_not_move(live_shop: str, browser: Browser, product: Product) -> None:
    sale_id = make_item(product, opens_in_seconds=1800).sale_id
    for width, words, path in IN_TWO_PARTS:
        with slow_pages(live_shop, pause_before=words) as shop, opened(browser, width=width) as page:
            page.add_init_script(SHIFTS)
            moved = []
            # A busy browser may paint half a header. What the page itself moves, it moves each time.
            for _ in range(3):
                page.goto(shop + path.format(sale=sale_id))
                assert page.locator(".product-card, .item").first.is_visible()
                moved.append(page.evaluate("window.moved"))
                if not moved[-1]:
                    break
            assert moved[-1] == [], path


def test_the_header_is_reached_by_keyboard_in_the_order_in_which_it_is_seen(
    live_shop: str, new_page: NewPage, item: SaleItem
) -> None:
    page = new_page(viewport={"width": PHONE, "height": HEIGHT})
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
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
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
