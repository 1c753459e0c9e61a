"""A time is said on the visitor's own clock and on the shop's, as soon as the page can be seen."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from seckill.models import SaleItem
from shop.models import Product
from tests.browser.conftest import NewPage, sign_in
from tests.browser.order_to_pay import open_order, order_to_pay
from tests.browser.screen import SHIFTS
from tests.steps.shop import make_item

# Five hours and a half ahead of the shop's zone, which is UTC, all year long.
KOLKATA = "Asia/Kolkata"


def clock(at: datetime, zone: str) -> str:
    return f"{at.astimezone(ZoneInfo(zone)):%H:%M}"


# Whether the character after the time in a sentence, a full stop, is where the time ends.
STANDS_BESIDE_ITS_TIME = """() => {
  const time = document.querySelector(".outcome.reserved time");
  const full_stop = document.createRange();
  full_stop.setStart(time.nextSibling, 0);
  full_stop.setEnd(time.nextSibling, 1);
  const [end, found] = [time.lastChild.getBoundingClientRect(), full_stop.getBoundingClientRect()];
  return Math.abs(end.right - found.left) < 2 && found.top < end.bottom && end.top < found.bottom;
}"""


# Of the sale's page and of the home page.
WINDOWS = {
    "/sales/{sale}/": r"{0} ?–.*{1} \(your time\) · .*{2} ?–.*{3} \(UTC\)",
    "/zh-hans/": "{0} ?–.*{1}（您当地时间） · .*{2} ?–.*{3}（UTC）",
}


def test_a_visitor_far_away_reads_the_own_time_first_and_nothing_moves(
    live_shop: str, new_page: NewPage, product: Product
) -> None:
    sale = make_item(product, closes_in_seconds=5400).sale
    clocks = [clock(at, zone) for zone in (KOLKATA, "UTC") for at in (sale.opens_at, sale.closes_at)]
    page = new_page(timezone_id=KOLKATA, viewport={"width": 360, "height": 740})
    page.add_init_script(SHIFTS)
    for path, words in WINDOWS.items():
        expected = re.compile(words.format(*clocks))
        page.goto(live_shop + path.format(sale=sale.pk))
        expect(page.locator(".countdown").first).to_have_text(re.compile(r"1:[23]\d:\d\d"))
        expect(page.locator(".window time").first).to_have_text(expected)
        assert page.evaluate("window.shift") == 0, page.evaluate("window.moved")


def test_a_countdown_has_its_room_before_its_figures_come(live_shop: str, page: Page, product: Product) -> None:
    url = f"{live_shop}/sales/{make_item(product, closes_in_seconds=5400).sale_id}/"
    countdown = page.locator(".countdown").first
    # Given a page whose scripts are still on their way, which shows no figures that are wrong
    nothing = {"content_type": "text/javascript", "body": "export const start = () => {};"}
    page.route("**/countdown*.js", lambda route: route.fulfill(**nothing))
    page.goto(url)
    expect(countdown).to_be_hidden()
    room = countdown.bounding_box()
    page.unroute("**/countdown*.js")
    # When they have come, then the figures fill the room that was kept
    page.goto(url)
    expect(countdown).to_be_visible()
    assert countdown.bounding_box() == room


# The page's time stands still while the machine sleeps.
SLEEPING_MACHINE = """const runs = performance.now.bind(performance);
window.slept = 0;
performance.now = () => runs() - window.slept;"""


def without_time(route: Route) -> None:
    """For a call that gets nothing, and no error in the console."""
    route.fulfill(status=204) if route.request.method == "HEAD" else route.fallback()


def test_an_order_that_is_seen_again_after_a_sleep_says_how_much_time_is_left_to_pay(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    # Given the page of an order that has not read itself again yet, where the server writes the time left
    sign_in(page.context, buyer)
    page.add_init_script(SLEEPING_MACHINE)
    page.route("**/orders/*/", lambda route: route.continue_() if route.request.resource_type != "xhr" else None)
    open_order(page, live_shop, order_to_pay(item, buyer))
    countdown = page.locator(".order-state .countdown").first
    expect(countdown).to_have_text(re.compile(r"1[45]:\d\d"))
    # When the machine sleeps for five minutes
    page.evaluate("window.slept = 300_000")
    expect(countdown).to_have_text(re.compile(r"(19|20):\d\d"))
    # Then the page is right as soon as it is seen again and gets the shop's time, which may come with the network
    page.route("**/orders/*/", without_time)
    with page.expect_request(lambda request: request.method == "HEAD"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(countdown).to_have_text(re.compile(r"(19|20):\d\d"))
    page.unroute("**/orders/*/", without_time)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(countdown).to_have_text(re.compile(r"1[45]:\d\d"))


def test_a_visitor_beside_the_shop_reads_one_time(live_shop: str, new_page: NewPage, item: SaleItem) -> None:
    page = new_page(timezone_id="UTC")
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    text = page.locator(".window time").text_content() or ""
    assert clock(item.sale.opens_at, "UTC") in text
    assert (text.count("(UTC)"), "your time" in text) == (1, False)


def test_card_and_order_say_the_end_of_a_hold_on_the_same_clocks(
    live_shop: str, new_page: NewPage, buyer: User, product: Product
) -> None:
    item = make_item(product)
    page = new_page(buyer, timezone_id=KOLKATA, viewport={"width": 360, "height": 740})
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    page.click("[data-buy]")
    on_card = re.findall(r"\d\d:\d\d(?= \()", page.locator(".outcome.reserved time").text_content() or "")
    assert len(on_card) == 2
    assert page.evaluate(STANDS_BESIDE_ITS_TIME), "the end of the sentence stands alone on a line"
    page.wait_for_url("**/orders/*/")
    on_order = page.locator("dt", has_text="To be paid by").locator("+ dd").text_content() or ""
    assert re.findall(r"\d\d:\d\d(?= \()", on_order) == on_card
